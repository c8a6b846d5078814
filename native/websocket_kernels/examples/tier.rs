//! Prints the tier that this CPU takes.

fn main() {
    println!("{}", websocket_kernels::Tier::best().name());
}

//! Sends WebSocket messages to a server as fast as it takes them: the load for `bench/server.exs`.
//!
//!     load_client PORT CONNECTIONS MESSAGES SIZE text|binary
//!
//! Each of the connections sends MESSAGES messages of SIZE bytes, and then waits for one frame, with
//! which the server says that it has got them all.

use std::error::Error;
use std::io::{Read, Write};
use std::net::TcpStream;

/// The frames are made before they are sent, some at a time, and sent again and again.
const BATCH_BYTES: usize = 256 * 1024;

/// A message as chats and dashboards send it.
const JSON: &str = concat!(
    r#"{"topic":"room:lobby","event":"message","ref":"1024","payload":{"user":{"id":48151,"#,
    r#""name":"Ada Lovelace"},"text":"The engine weaves algebraic patterns, \"just as the loom\" "#,
    r#"weaves flowers and leaves.","tags":["history","computing"],"likes":162342,"edited":false}},"#
);

/// xorshift64, for masking keys and for payloads in which no two places look the same.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 32) as u32
    }
}

fn payload(size: usize, text: bool, random: &mut Random) -> Vec<u8> {
    if text {
        JSON.bytes().cycle().take(size).collect()
    } else {
        (0..size).map(|_| random.next() as u8).collect()
    }
}

/// One masked frame (RFC 6455 §5.2).
fn frame(payload: &[u8], text: bool, random: &mut Random) -> Vec<u8> {
    let key = random.next().to_be_bytes();
    let mut frame = vec![if text { 0x81 } else { 0x82 }];
    match payload.len() {
        length @ 0..=125 => frame.push(0x80 | length as u8),
        length @ 126..=0xFFFF => {
            frame.push(0x80 | 126);
            frame.extend((length as u16).to_be_bytes());
        }
        length => {
            frame.push(0x80 | 127);
            frame.extend((length as u64).to_be_bytes());
        }
    }
    frame.extend(key);
    frame.extend(
        payload
            .iter()
            .zip(key.iter().cycle())
            .map(|(byte, key)| byte ^ key),
    );
    frame
}

fn connect(port: u16, messages: usize) -> std::io::Result<TcpStream> {
    let mut socket = TcpStream::connect(("127.0.0.1", port))?;
    write!(
        socket,
        "GET /?{messages} HTTP/1.1\r\nhost: localhost\r\nconnection: Upgrade\r\n\
         upgrade: websocket\r\nsec-websocket-version: 13\r\n\
         sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )?;

    // The server says nothing after these headers until it has got all messages.
    let mut response = Vec::new();
    while !response.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        socket.read_exact(&mut byte)?;
        response.extend(byte);
    }
    assert!(response.starts_with(b"HTTP/1.1 101"), "no WebSocket there");
    Ok(socket)
}

fn send(mut socket: TcpStream, messages: usize, batch: &[Vec<u8>]) -> std::io::Result<()> {
    let together = batch.concat();
    for _ in 0..messages / batch.len() {
        socket.write_all(&together)?;
    }
    socket.write_all(&batch[..messages % batch.len()].concat())?;

    let mut frame_header = [0; 2];
    socket.read_exact(&mut frame_header)?;
    assert_eq!(
        frame_header[0], 0x82,
        "the server did not take the messages"
    );
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [port, connections, messages, size, kind] = &arguments[..] else {
        return Err("usage: load_client PORT CONNECTIONS MESSAGES SIZE text|binary".into());
    };
    let port = port.parse()?;
    let messages: usize = messages.parse()?;
    let size: usize = size.parse()?;
    let text = kind == "text";

    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let batch: Vec<Vec<u8>> = (0..(BATCH_BYTES / (size + 8)).clamp(1, messages))
        .map(|_| {
            let payload = payload(size, text, &mut random);
            frame(&payload, text, &mut random)
        })
        .collect();

    let sockets = (0..connections.parse()?)
        .map(|_| connect(port, messages))
        .collect::<Result<Vec<_>, _>>()?;

    // The server measures from here on.
    println!("connected");
    std::io::stdin().read_line(&mut String::new())?;

    std::thread::scope(|scope| {
        let senders: Vec<_> = sockets
            .into_iter()
            .map(|socket| scope.spawn(|| send(socket, messages, &batch)))
            .collect();
        for sender in senders {
            sender.join().expect("a sender failed")?;
        }
        Ok(())
    })
}

//! Talks to an echo server with the tungstenite crate. Arguments: the URL, the sizes of the messages,
//! a file with texts that are not UTF-8, in hex.

use tungstenite::protocol::frame::coding::{CloseCode, Data, OpCode};
use tungstenite::protocol::frame::{Frame, FrameHeader};
use tungstenite::{Bytes, Error, Message, WebSocket, stream::MaybeTlsStream};

type Socket = WebSocket<MaybeTlsStream<std::net::TcpStream>>;
type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// Bytes in which no two places look the same (xorshift64).
fn binary(size: usize) -> Vec<u8> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    })
    .take(size)
    .collect()
}

fn text(size: usize) -> String {
    let characters: Vec<char> = "aé€😀{\":7}Ж語\0\u{FFFF} ".chars().collect();
    let mut result: String = binary(size / 4)
        .into_iter()
        .map(|byte| characters[byte as usize % characters.len()])
        .collect();
    result.push_str(&".".repeat(size - result.len()));
    result
}

fn frame(payload: &[u8], opcode: OpCode, fin: bool) -> Message {
    let header = FrameHeader {
        is_final: fin,
        opcode,
        // The client puts its own key here.
        mask: Some([0; 4]),
        ..FrameHeader::default()
    };
    Message::Frame(Frame::from_payload(header, Bytes::copy_from_slice(payload)))
}

/// The next text, binary or close message; `None` is a close frame without a status code.
fn receive(socket: &mut Socket) -> Outcome<Message> {
    loop {
        match socket.read()? {
            Message::Ping(_) | Message::Pong(_) => continue,
            message => return Ok(message),
        }
    }
}

fn expect_echo(socket: &mut Socket, message: Message) -> Outcome<usize> {
    let size = message.len();
    if receive(socket)? != message {
        return Err(format!("{size} bytes came back changed").into());
    }
    Ok(1)
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, sizes, invalid_texts] = &arguments[..] else {
        return Err("usage: client_tungstenite URL SIZES INVALID_TEXTS".into());
    };
    let (mut echoed, mut refused) = (0, 0);
    let (mut socket, _response) = tungstenite::connect(url)?;

    for size in sizes.split(',') {
        let size = size.parse()?;
        for message in [Message::text(text(size)), Message::binary(binary(size))] {
            socket.send(message.clone())?;
            echoed += expect_echo(&mut socket, message)?;
        }
    }

    let message = text(100_000);
    let (first, rest) = message.as_bytes().split_at(1);
    let (middle, last) = rest.split_at(50_000);
    socket.send(frame(first, OpCode::Data(Data::Text), false))?;
    socket.send(Message::Ping("are you there?".into()))?;
    socket.send(frame(middle, OpCode::Data(Data::Continue), false))?;
    socket.send(Message::Ping("and now?".into()))?;
    socket.send(frame(last, OpCode::Data(Data::Continue), true))?;
    echoed += expect_echo(&mut socket, Message::text(message))?;

    socket.close(None)?;
    while !matches!(socket.read(), Err(Error::ConnectionClosed)) {}

    for line in std::fs::read_to_string(invalid_texts)?.lines() {
        let payload: Vec<u8> = (0..line.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&line[at..at + 2], 16))
            .collect::<Result<_, _>>()?;
        let (mut socket, _response) = tungstenite::connect(url)?;
        socket.send(frame(&payload, OpCode::Data(Data::Text), true))?;
        match receive(&mut socket)? {
            Message::Close(Some(close)) if close.code == CloseCode::Invalid => refused += 1,
            other => return Err(format!("{line} was answered with {other:?}").into()),
        }
    }

    println!("{echoed} messages echoed, {refused} texts refused");
    Ok(())
}

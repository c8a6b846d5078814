// Talks to an echo server with the ws library. Arguments: the URL, the sizes of the messages, a file
// with texts that are not UTF-8, in hex.

import assert from 'node:assert';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import WebSocket from 'ws';

const [url, sizes, invalidTexts] = process.argv.slice(2);
let echoed = 0;
let refused = 0;

const CHARACTERS = [...'aé€😀{":7}Ж語\u0000\uFFFF '];

function text(size) {
  let result = '';
  for (const byte of randomBytes(size >> 2)) result += CHARACTERS[byte % CHARACTERS.length];
  return Buffer.from(result + '.'.repeat(Math.max(0, size - Buffer.byteLength(result))));
}

async function connect(options) {
  const socket = new WebSocket(url, options);
  await once(socket, 'open');
  return socket;
}

async function expectEcho(socket, payload, isBinary) {
  const [data, receivedAsBinary] = await once(socket, 'message');
  assert.equal(receivedAsBinary, isBinary);
  assert(data.equals(payload), `${payload.length} bytes came back changed`);
  echoed++;
}

async function closed(socket) {
  const [code] = await once(socket, 'close');
  return code;
}

for (const perMessageDeflate of [false, { threshold: 0 }]) {
  const socket = await connect({ perMessageDeflate });
  assert.equal(socket.extensions, perMessageDeflate ? 'permessage-deflate' : '');

  // Texts only with compression: see test/integration/clients_test.exs.
  for (const binary of perMessageDeflate ? [false] : [false, true]) {
    for (const size of sizes.split(',').map(Number)) {
      const payload = binary ? randomBytes(size) : text(size);
      socket.send(payload, { binary });
      await expectEcho(socket, payload, binary);
    }
  }

  const payload = text(100000);
  for (let i = 0; i < 4; i++) {
    socket.send(payload.subarray(i * 25000, (i + 1) * 25000), { binary: false, fin: i === 3 });
    if (i < 3) socket.ping('are you there?');
  }
  await expectEcho(socket, payload, false);

  socket.close(1000);
  assert.equal(await closed(socket), 1000);
}

for (const line of readFileSync(invalidTexts, 'ascii').trim().split('\n')) {
  const socket = await connect({ perMessageDeflate: refused % 2 ? { threshold: 0 } : false });
  socket.send(Buffer.from(line, 'hex'), { binary: false });
  assert.equal(await closed(socket), 1007);
  refused++;
}

console.log(`${echoed} messages echoed, ${refused} texts refused`);

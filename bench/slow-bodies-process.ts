// Opens `count` uploads that send 64 KiB/s, and `count` downloads that are read at this rate. Prints a line when all have
// started; exits when its standard input ends.
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { arrowBytes } from '../test/support/arrow-upload.ts'

const [url = '', key = '', count = '0'] = process.argv.slice(2)
const { hostname, port } = new URL(url)
const chunk = Buffer.alloc(16 * 1024)
const everyMs = 250

const head = (target: string, length: number): string =>
  `POST ${target} HTTP/1.1\r\nhost: g\r\nx-api-key: ${key}\r\ncontent-length: ${length}\r\n\r\n`

async function open(): Promise<Socket> {
  const socket = connect(Number(port), hostname)
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  return socket
}

async function upload(): Promise<void> {
  const socket = await open()
  socket.write(head('/v1/table/o/insert', 1024 * 1024 * 1024))
  socket.write(arrowBytes(chunk.length))
  const timer = setInterval(() => socket.write(chunk), everyMs)
  socket.resume().once('close', () => clearInterval(timer))
}

async function download(): Promise<void> {
  const socket = await open()
  socket.pause()
  socket.write(`${head('/v1/table/o/query', 2)}{}`)
  const timer = setInterval(() => socket.read(chunk.length), everyMs)
  socket.on('readable', () => undefined).once('close', () => clearInterval(timer))
}

for (let index = 0; index < Number(count); index += 1) await Promise.all([upload(), download()])
process.stdout.write('started\n')
process.stdin.resume().once('end', () => process.exit(0))

// Opens `count` connections that send one byte per second: a third within a head, a third within JSON, a third within an
// upload. Prints a line when all are open; exits when its standard input ends.
import { once } from 'node:events'
import { connect } from 'node:net'

const [url = '', key = '', count = '0'] = process.argv.slice(2)
const { hostname, port } = new URL(url)
const head = (target: string): string => `POST ${target} HTTP/1.1\r\nhost: g\r\nx-api-key: ${key}\r\n`
const prefixes = [
  `${head('/v1/table/o/describe')}x-slow: `,
  `${head('/v1/table/o/describe')}content-length: 100000\r\n\r\n{"a": "`,
  `${head('/v1/table/o/insert')}content-length: 100000\r\n\r\n`,
]

async function open(index: number): Promise<void> {
  const socket = connect(Number(port), hostname)
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  socket.write(prefixes[index % prefixes.length] ?? '')
  const timer = setInterval(() => socket.write('x'), 1_000)
  socket.resume().once('close', () => clearInterval(timer))
}

for (let index = 0; index < Number(count); index += 1) await open(index)
process.stdout.write('started\n')
process.stdin.resume().once('end', () => process.exit(0))

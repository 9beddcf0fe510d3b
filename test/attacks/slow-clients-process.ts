// Opens that many connections to a gateway and sends a byte on each of them every second: a third of them within a
// head, a third within JSON, a third within an upload. Prints a line when all have begun; ends with its standard input.
import { once } from 'node:events'
import { connect } from 'node:net'

const [url = '', key = '', count = '0'] = process.argv.slice(2)
const { hostname, port } = new URL(url)
const head = (target: string): string => `POST ${target} HTTP/1.1\r\nhost: g\r\nx-api-key: ${key}\r\n`
const beginnings = [
  `${head('/v1/table/o/describe')}x-slow: `,
  `${head('/v1/table/o/describe')}content-length: 100000\r\n\r\n{"a": "`,
  `${head('/v1/table/o/insert')}content-length: 100000\r\n\r\n`,
]

async function open(index: number): Promise<void> {
  const socket = connect(Number(port), hostname)
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  socket.write(beginnings[index % beginnings.length] ?? '')
  const timer = setInterval(() => socket.write('x'), 1_000)
  socket.resume().once('close', () => clearInterval(timer))
}

for (let index = 0; index < Number(count); index += 1) await open(index)
process.stdout.write('all have begun\n')
process.stdin.resume().once('end', () => process.exit(0))

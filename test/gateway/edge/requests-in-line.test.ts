import { expect, it } from 'vitest'
import { Turns, type Line } from '../../../src/gateway/edge/turns.ts'
import { openRaw } from '../raw-connection.ts'
import { eventually } from '../waiting.ts'
import { answerText, bodyOf, runListener } from './running-listener.ts'

const get = 'GET / HTTP/1.1\r\nhost: g\r\n\r\n'

/** A line in which nobody's turn comes before the test says so. */
function closedLine() {
  const waiting = new Set<() => void>()
  const line: Line = {
    take: (begin) => void waiting.add(begin),
    leave: (begin) => void waiting.delete(begin),
  }
  /** Lets all begin that wait now. */
  function open(): void {
    const begins = [...waiting]
    waiting.clear()
    for (const begin of begins) begin()
  }
  return { line, waiting, open }
}

async function runInLine() {
  const { line, waiting, open } = closedLine()
  const targets: string[] = []
  const running = await runListener(
    (request, answer) => {
      targets.push(request.head.target)
      void bodyOf(request).then(
        (body) => answerText(answer, `${request.head.target} ${body.length}`),
        () => undefined,
      )
    },
    { line },
  )
  return { ...running, waiting, open, targets }
}

it('a request begins when its turn comes, with a body that came before and one that comes later', async () => {
  const { url, waiting, open } = await runInLine()
  const [whole, half] = [openRaw(url), openRaw(url)]
  whole.write('POST /whole HTTP/1.1\r\nhost: g\r\ncontent-length: 3\r\n\r\nabc')
  half.write('POST /half HTTP/1.1\r\nhost: g\r\ncontent-length: 3\r\n\r\na')
  await eventually(() => expect(waiting.size).toBe(2))
  expect(whole.received() + half.received()).toBe('')
  open()
  expect(await whole.until(/\/whole 3$/)).toMatch(/^HTTP\/1\.1 200 OK/)
  half.write('bc')
  expect(await half.until(/\/half 3$/)).toMatch(/^HTTP\/1\.1 200 OK/)
})

it('of a body that goes on coming, little is read before the turn of its request, and all of it then', async () => {
  const { url, waiting, open } = await runInLine()
  const size = 32 * 1024 * 1024
  const connection = openRaw(url)
  connection.write(`POST /large HTTP/1.1\r\nhost: g\r\ncontent-length: ${size}\r\n\r\n`)
  await eventually(() => expect(waiting.size).toBe(1))
  connection.write(Buffer.alloc(size))
  const written = new Promise((resolve) => connection.socket.once('drain', resolve))
  expect(await Promise.race([written, new Promise((resolve) => setTimeout(resolve, 200, 'held back'))])).toBe(
    'held back',
  )
  open()
  await connection.until(new RegExp(`/large ${size}$`))
})

it('what is sent ahead on one connection waits in line behind the requests of others', async () => {
  const { url, waiting, open, targets } = await runInLine()
  const [ahead, other] = [openRaw(url), openRaw(url)]
  ahead.write(get + get.replace('/', '/second'))
  await eventually(() => expect(waiting.size).toBe(1))
  other.write(get.replace('/', '/other'))
  await eventually(() => expect(waiting.size).toBe(2))
  open()
  await other.until(/\/other 0$/)
  await eventually(() => expect(waiting.size).toBe(1))
  expect(targets).toEqual(['/', '/other'])
  open()
  await ahead.until(/\/second 0$/)
})

it('whoever ends in line is as good as one who ends elsewhere: half of a request is refused, a whole one begins', async () => {
  const { url, turnedAway, targets } = await runInLine()
  const [whole, half] = [openRaw(url), openRaw(url)]
  whole.socket.end(get)
  half.socket.end(get.slice(0, 20))
  await whole.end()
  expect(targets).toEqual(['/'])
  expect(await half.end()).toMatch(/^HTTP\/1\.1 400 Bad Request/)
  expect(turnedAway).toEqual(['cut_short'])
})

it('whoever goes away in line leaves it', async () => {
  const { url, waiting, open, targets, listener } = await runInLine()
  const connection = openRaw(url)
  connection.write(get)
  await eventually(() => expect(waiting.size).toBe(1))
  connection.socket.resetAndDestroy()
  await eventually(() => expect(listener.open()).toBe(0))
  expect(waiting.size).toBe(0)
  open()
  expect(targets).toEqual([])
})

it('whoever waits in line when no more connections are taken is still answered', async () => {
  const { url, waiting, open, listener } = await runInLine()
  const [inLine, idle] = [openRaw(url), openRaw(url)]
  inLine.write(get)
  await eventually(() => expect(waiting.size).toBe(1))
  await eventually(() => expect(listener.open()).toBe(2))
  listener.closeWhenAnswered()
  const over = listener.stopAccepting()
  expect(await idle.end()).toBe('')
  expect(listener.isBusy()).toBe(true)
  open()
  expect(await inLine.end()).toMatch(/connection: close\r\n[^]*\/ 0$/)
  await over
})

it('nobody in line is taken for one who sends nothing', async () => {
  const { line, waiting, open } = closedLine()
  const { url, turnedAway } = await runListener((_, answer) => answerText(answer, 'at last'), {
    line,
    timeouts: { headersTimeoutMs: 100, keepAliveTimeoutMs: 100 },
  })
  const connection = openRaw(url)
  connection.write(get)
  await eventually(() => expect(waiting.size).toBe(1))
  await new Promise((resolve) => setTimeout(resolve, 500))
  open()
  await connection.until(/at last$/)
  expect(turnedAway).toEqual([])
})

it('a thousand connections that ask at once are all answered, whatever a turn takes', async () => {
  const { url } = await runListener((_, answer) => answerText(answer, 'answered'), { line: new Turns(1) })
  const connections = Array.from({ length: 1_000 }, () => openRaw(url))
  for (const connection of connections) connection.write(get + get)
  await Promise.all(connections.map((connection) => connection.until(/answered[^]*answered$/)))
})

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { otlpSettings, linesInLog, openLogWithSinks, quickly } from './log-with-sinks.ts'
import { distinct, drops, linesOf, startReceiver, takes, type Receiving } from './http-receiver.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { eventually } from '../../support/eventually.ts'

const script = fileURLToPath(new URL('writing-process.ts', import.meta.url))

/** Writes until enough intents are durable and the receiver has received some, and is then killed. */
async function writeAndDie(folder: string, settings: object, intents: number, isEnough: () => boolean) {
  const input = [[settings], quickly].map((each) => JSON.stringify(each))
  const child = spawn(process.execPath, ['--import', 'tsx', script, folder, ...input], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const exited = once(child, 'exit')
  const durable: string[] = []
  for await (const line of createInterface({ input: child.stderr })) {
    if (line !== 'ready') durable.push(line)
    if (durable.length >= intents && isEnough()) child.kill('SIGKILL')
  }
  await exited
  return durable
}

it('a killed process loses no undelivered record, and duplicates are identical', async () => {
  const [folder, receiver] = [await temporaryFolder(), await startReceiver()]
  const settings = otlpSettings(receiver.url)
  const durable: string[] = []
  let count = 0
  /** Accepts most batches, some with a lost acknowledgement. */
  const takesAndForgets: Receiving = (batch, response) =>
    (count += 1) % 3 === 0 ? response.destroy() : takes(batch, response)
  for (const receiving of [drops, takesAndForgets, takesAndForgets]) {
    receiver.receiving = receiving
    const before = receiver.seen.length
    durable.push(...(await writeAndDie(folder, settings, 20, () => receiver.seen.length > before + 2)))
  }
  receiver.receiving = takes
  const { sinks } = await openLogWithSinks(folder, [settings])
  await eventually(() => expect(sinks.status()).toMatchObject([{ status: { lagRecords: 0 } }]))
  const lines = await linesInLog(folder)
  await eventually(() => expect(new Set(linesOf(receiver.taken))).toEqual(new Set(lines)))
  const seen = linesOf(receiver.seen)
  expect(seen.length).toBeGreaterThan(lines.length)
  const ids = distinct(seen).map((line) => {
    const { chain, seq } = JSON.parse(line) as { chain: string; seq: number }
    return `${chain}:${seq}`
  })
  expect(ids).toEqual(distinct(ids))
  for (const request of durable) expect(lines.some((line) => line.includes(`"${request}"`))).toBe(true)
})

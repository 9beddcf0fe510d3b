import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openAuditLog } from '../../../src/audit/log/audit-log.ts'
import { verifyAuditLog } from '../../../src/audit/verify/verify-audit-log.ts'
import { isThorough } from '../../support/thorough.ts'
import { logOptions, ofKind, recordsOf, segmentsOf } from '../audit-fixtures.ts'
import { keyOf } from '../verify/forge-log.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** Runs a writer, kills it at a random time, and returns the complete lines of its output. */
async function killedWriter(folder: string, segmentBytes: number): Promise<string[]> {
  const program = join(import.meta.dirname, 'writing-process.ts')
  const child = spawn(process.execPath, ['--import', 'tsx', program, folder, String(segmentBytes)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  const lines = 1 + Math.floor(Math.random() * 1_500)
  let printed = ''
  let count = 0
  for await (const chunk of child.stdout) {
    printed += String(chunk)
    count = printed.split('\n').length
    if (count > lines) child.kill('SIGKILL')
  }
  await exited
  return printed.split('\n').slice(0, -1)
}

/** What a power failure may leave of a group that was not durable: a part of it, or zeros in its place. */
const leftovers: readonly ((line: Buffer) => Buffer)[] = [
  () => Buffer.alloc(0),
  (line) => line.subarray(0, Math.floor(line.length / 2)),
  (line) => Buffer.alloc(line.length),
]

const rounds = isThorough ? 3 * leftovers.length : 1

it.each([50_000, 10_000_000])(
  'records reported by a killed writer survive, and the chain stays valid, with segments of %i bytes',
  async (segmentBytes) => {
    const folder = await temporaryFolder()
    const printed: string[] = []
    for (let round = 0; round < rounds; round += 1) {
      printed.push(...(await killedWriter(folder, segmentBytes)))
      await loseEnd(folder, new Set(printed), leftovers[round % leftovers.length] ?? ((line) => line))
    }
    await (await openAuditLog(logOptions(folder))).close()
    const report = await verifyAuditLog(folder, { keys: [await keyOf(folder)] })
    expect(report).toMatchObject({ ok: true, chains: rounds + 1, unresolved: 0 })
    const found = ofKind(await recordsOf(folder), 'intent').map(({ chain, seq }) => `${chain} ${seq}`)
    expect(printed.filter((intent) => !new Set(found).has(intent))).toEqual([])
  },
)

/** Replaces the last record of a log, unless the writer has reported it, or was killed before it had written one whole. */
async function loseEnd(
  folder: string,
  reported: ReadonlySet<string>,
  lose: (line: Buffer) => Buffer,
): Promise<void> {
  const path = join(folder, (await segmentsOf(folder)).at(-1) ?? '')
  const content = await readFile(path)
  if (content.at(-1) !== 10) return
  const begin = content.lastIndexOf(10, content.lastIndexOf(10) - 1) + 1
  const line = content.subarray(begin)
  const { kind, chain, seq } = JSON.parse(String(line).split('\n')[0] ?? '') as {
    kind: string
    chain: string
    seq: number
  }
  if (kind !== 'intent' || reported.has(`${chain} ${seq}`)) return
  await writeFile(path, content.subarray(0, begin))
  await appendFile(path, lose(line.subarray(0, -1)))
}

import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeAll, expect, it, vi } from 'vitest'
import type { IntentReference } from '../../../src/audit/records/audit-record.ts'
import { openAuditLog, type AuditLog } from '../../../src/audit/log/audit-log.ts'
import {
  type RequestKind,
  selectRecords,
  type SelectedRecord,
  type Selection,
} from '../../../src/audit/query/select-records.ts'
import { makeTemporaryFolder, removeFolder, temporaryFolder } from '../../support/temporary-folder.ts'
import { isThorough } from '../../support/thorough.ts'
import { aRefusal, anIntent, committed, logOptions, segmentsOf } from '../audit-fixtures.ts'

const minute = 60_000
/** The lock of the folder counts as lost if the clock jumps by more than a minute and it is not refreshed. */
const lockRefreshMs = 10_000
const start = Date.parse('2026-06-01T00:00:00Z')
const steps = 240
/** Records contain some of them with escapes. */
const tables = ['t', 't"', 't\\', 'Tür', 't\ud800\n']
/** The clock is set back before this step. */
const setBackAt = 120

interface Writer {
  readonly log: AuditLog
  readonly open: IntentReference[]
  readonly lost: IntentReference[]
}

const folders = { setBack: '', steady: '' }

beforeAll(async () => {
  const folder = await makeTemporaryFolder()
  folders.setBack = join(folder, 'set-back')
  folders.steady = join(folder, 'steady')
  vi.useFakeTimers({ toFake: ['Date', 'setInterval', 'clearInterval'], now: start })
  try {
    await writeLog(folders.setBack, (step) => (step === setBackAt ? -50 : 7) * minute)
    vi.setSystemTime(start)
    await writeLog(folders.steady, () => 7 * minute)
  } finally {
    vi.useRealTimers()
  }
  return () => removeFolder(folder)
})
afterEach(() => vi.useRealTimers())

/** Writes a log of many segments: changes whose outcomes come late, in later segments or chains, and denials. */
async function writeLog(folder: string, advance: (step: number) => number): Promise<void> {
  await mkdir(folder, { recursive: true })
  const open = () => openAuditLog(logOptions(folder, { gateway: 'gateway', segmentBytes: 6_000 }))
  const lost: IntentReference[] = []
  let writer: Writer = { log: await open(), open: [], lost }
  for (let step = 0; step < steps; step += 1) {
    vi.setSystemTime(Date.now() + advance(step) - lockRefreshMs)
    vi.advanceTimersByTime(lockRefreshMs)
    while (!writer.log.status().writable) await new Promise(setImmediate)
    await writeStep(writer, step)
    if (step % 67 !== 66) continue
    await writer.log.close()
    writer = { log: await open(), open: [], lost }
  }
  await writer.log.close()
}

async function writeStep({ log, open, lost }: Writer, step: number): Promise<void> {
  const intent = anIntent(`r${step}`)
  const principal = {
    ...intent.principal,
    name: `corp:${step < 9 ? 'early' : ['ann', 'bob', 'eve'][step % 3]}`,
  }
  const id = ['production', tables[step % tables.length] ?? '']
  if (step % 7 === 0) log.recordRefusal({ ...aRefusal(`r${step}`), principal, id })
  else if (step % 7 === 1)
    open.push(
      await log.recordIntent({
        ...intent,
        principal,
        operation: 'CreateNamespace',
        id: [intent.id[0] ?? '', 'lab'],
      }),
    )
  else if (step % 7 === 2)
    open.push(
      await log.recordIntent({ ...intent, principal, operation: 'DescribeTable', effect: 'read', id }),
    )
  else open.push(await log.recordIntent({ ...intent, principal, id }))
  const due =
    open.length <= 12 ? undefined : step % 4 === 0 ? open.shift() : step % 4 === 2 ? open.pop() : undefined
  if (due !== undefined) {
    await log.recordOutcome(due, step % 3 === 0 ? { result: 'unknown', durationMs: 1 } : committed)
    if (step % 3 === 0) lost.push(due)
  }
  const resolved = lost.length > 5 ? lost.shift() : undefined
  if (resolved !== undefined)
    await log.recordResolution(resolved, { result: 'committed', evidence: 'seen', lookups: 1 })
}

/** What a test compares of a record: itself and its intent. */
function identify({ record, intent }: SelectedRecord): string {
  return `${record.chain}:${record.seq} ${record.hash} ${intent?.chain}:${intent?.seq}`
}

async function select(folder: string, selection: Selection): Promise<readonly SelectedRecord[]> {
  const found: SelectedRecord[] = []
  for await (const record of selectRecords(folder, selection)) found.push(record)
  return found
}

function isAbout({ record, intent }: SelectedRecord, object: readonly string[]): boolean {
  const ids = [
    ...(record.tables ?? []).map(({ id }) => id),
    ...[intent ?? record].flatMap((request) => ('id' in request && request.id ? [request.id] : [])),
  ]
  return ids.some((id) => JSON.stringify(id.slice(0, object.length)) === JSON.stringify(object))
}

function kindOf({ record, intent }: SelectedRecord): string {
  const { kind, effect } = { effect: undefined, ...(intent ?? record) }
  return kind === 'intent' ? (effect === 'read' ? 'read' : 'change') : kind
}

function principalOf({ record, intent }: SelectedRecord): string | undefined {
  const request = intent ?? record
  return 'principal' in request ? request.principal?.name : undefined
}

function isSelected(
  selected: SelectedRecord,
  { request, principal, object, kinds, since, until }: Selection,
): boolean {
  const time = Date.parse(selected.record.time)
  return (
    (since === undefined || time >= since.getTime()) &&
    (until === undefined || time < until.getTime()) &&
    (request === undefined || ('request' in selected.record && selected.record.request === request)) &&
    (kinds === undefined || kinds.some((kind) => kind === kindOf(selected))) &&
    (object === undefined || isAbout(selected, object)) &&
    (principal === undefined || principalOf(selected) === principal)
  )
}

const time = fc
  .integer({ min: -60, max: steps * 7 + 60 })
  .map((minutes) => new Date(start + minutes * minute))
const selection: fc.Arbitrary<Selection> = fc.record(
  {
    since: time,
    until: time,
    last: fc.integer({ min: 1, max: 60 }),
    principal: fc.constantFrom('corp:ann', 'corp:bob', 'corp:nobody'),
    request: fc.integer({ min: 0, max: steps }).map((step) => `r${step}`),
    object: fc.constantFrom(
      ['production'],
      ['production', 'lab'],
      ...[...tables, 'none'].map((name) => ['production', name]),
    ),
    kinds: fc.subarray<RequestKind>(['change', 'read', 'refusal'], { minLength: 1 }),
  },
  { requiredKeys: [] },
)

it.each(['setBack', 'steady'] as const)('selects the same as a pass over the whole log: %s', async (name) => {
  const folder = folders[name]
  const all = await select(folder, {})
  expect((await segmentsOf(folder)).length).toBeGreaterThan(15)
  expect(all.filter(({ intent }) => intent !== undefined).length).toBeGreaterThan(60)
  const assertSame = async (chosen: Selection): Promise<void> => {
    const expected = all.filter((record) => isSelected(record, chosen)).slice(-(chosen.last ?? all.length))
    expect((await select(folder, chosen)).map(identify)).toEqual(expected.map(identify))
  }
  await fc.assert(fc.asyncProperty(selection, assertSame), { numRuns: isThorough ? 50 : 15 })
  for (let minutes = -60; minutes < 60; minutes += 10)
    await assertSame({ since: new Date(start + (setBackAt * 7 + minutes) * minute) })
})

it.each<[string, Selection]>([
  ['since a time', { since: new Date(start + 1300 * minute) }],
  ['the last ones', { last: 5 }],
])('reads nothing of old segments for the records of %s', async (_, chosen) => {
  const folder = await copyOf(folders.steady)
  const expected = await select(folder, chosen)
  const [first = '', second = ''] = await segmentsOf(folder)
  // The last line remains.
  for (const file of [first, second]) {
    const text = await readFile(join(folder, file), 'utf8')
    await writeFile(join(folder, file), text.replace(/\n.*\n/, '\nnot a record\n'))
  }
  expect(await select(folder, chosen)).toEqual(expected)
  await expect(select(folder, {})).rejects.toThrow('the line is not a record')
})

async function copyOf(folder: string): Promise<string> {
  const copy = await temporaryFolder()
  for (const file of await segmentsOf(folder)) {
    await writeFile(join(copy, file), await readFile(join(folder, file)))
  }
  return copy
}

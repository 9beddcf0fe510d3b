import { setTimeout as pause } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { createRecordedVersions, type BranchRecords } from '../../../src/audit/compare/recorded-versions.ts'
import { openAuditLog, type AuditLog } from '../../../src/audit/log/audit-log.ts'
import type { IntentEntry, OutcomeEntry } from '../../../src/audit/records/audit-record.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { anIntent, committed, logOptions, openLog } from '../audit-fixtures.ts'

const id = ['production', 'orders']

function entry(operation: IntentEntry['operation'], parts: Partial<IntentEntry> = {}): IntentEntry {
  return { ...anIntent(operation), operation, ...parts }
}

async function record(
  log: AuditLog,
  intent: IntentEntry,
  outcome: Partial<OutcomeEntry> = {},
): Promise<void> {
  await log.recordOutcome(await log.recordIntent(intent), { ...committed, version: undefined, ...outcome })
}

const insert = entry('InsertIntoTable')
const overwrite = entry('CreateTable', { details: { mode: 'overwrite' } })
const made = (version: number, branch?: string) => ({ versions: [{ id, version, branch }] })

/** Returns what the records say of a branch: stated versions, and the numbers of other changes and of jobs. */
async function recorded(
  write: (log: AuditLog) => Promise<unknown>,
  { branch = '', table = id }: { readonly branch?: string; readonly table?: readonly string[] } = {},
): Promise<{ stated: number[]; unnumbered: number; jobs: number; hasBaseline: boolean }> {
  const { folder, log } = await openLog()
  await write(log)
  const versions = createRecordedVersions([folder], undefined)
  await versions.read()
  await log.close()
  return summarize(versions.find(table, branch))
}

function summarize({ stated, unnumbered, jobs, baseline }: BranchRecords) {
  for (const { from, to } of jobs) expect(to).toBeGreaterThan(from)
  const hasBaseline = baseline > 0
  return { stated: [...stated], unnumbered: unnumbered.length, jobs: jobs.length, hasBaseline }
}

const nothing = { stated: [], unnumbered: 0, jobs: 0, hasBaseline: false }

it.each<[what: string, intent: IntentEntry, outcome: Partial<OutcomeEntry>, expected: object]>([
  ['a version in the response', insert, made(4), { stated: [4] }],
  ['a change whose response has none', insert, {}, { unnumbered: 1 }],
  [
    'the version that a commit states',
    entry('CreateTableVersion', { details: { version: 5 } }),
    {},
    { stated: [5] },
  ],
  ['a job', entry('CreateTableIndex'), { status: 202 }, { jobs: 1 }],
  [
    'a job of an operation that commits nothing',
    entry('FlushTableRte', { effect: 'change' }),
    { status: 202 },
    { jobs: 1 },
  ],
  ['an extra operation', entry('CompactTable' as 'InsertIntoTable'), {}, { unnumbered: 1 }],
  ['one that reads', entry('CompactTable' as 'InsertIntoTable', { effect: 'read' }), {}, {}],
  ['a restored version', entry('RestoreTable', { details: { version: 3 } }), {}, { unnumbered: 1 }],
  ['a table that replaces an unknown one', overwrite, made(2), { stated: [2] }],
  ['a change that was rejected', insert, { result: 'rejected', status: 409 }, {}],
  ['a part of a multipart write', { ...insert, effect: 'change' }, {}, {}],
  ['a tag', entry('CreateTableTag', { effect: 'change' }), {}, {}],
  ['removed versions', entry('BatchDeleteTableVersions'), {}, {}],
  ['a table that brings versions', entry('RegisterTable', { effect: 'change' }), {}, { hasBaseline: true }],
  ['a cloned table', entry('CloneTable'), {}, { hasBaseline: true, unnumbered: 1 }],
])('reads %s', async (_, intent, outcome, expected) => {
  expect(await recorded((log) => record(log, intent, outcome))).toEqual({ ...nothing, ...expected })
})

it('a change without an outcome may have made its version', async () => {
  const found = await recorded(async (log) => {
    await log.recordIntent(insert)
    await log.recordIntent(entry('CreateTableVersion', { details: { version: 9 } }))
    await log.recordIntent({ ...insert, id: ['other'] })
    await log.recordIntent({ ...insert, details: { branch: 'dev' } })
  })
  expect(found).toEqual({ ...nothing, stated: [9], unnumbered: 1 })
})

it.each([
  ['committed', { unnumbered: 1 }],
  ['undecided', { stated: [2], unnumbered: 1 }],
  ['not_committed', { stated: [2] }],
  ['taken', { stated: [2] }],
] as const)(
  'a change in doubt that is resolved as %s explains what it may have made, and what it left',
  async (result, expected) => {
    const write = async (log: AuditLog) => {
      await record(log, insert, made(2))
      const receipt = await log.recordIntent(entry('CreateTable'))
      await log.recordOutcome(receipt, { result: 'unknown', durationMs: 1 })
      const stated = result === 'undecided' && made(12)
      await log.recordResolution(receipt, { result, evidence: '', lookups: 1, ...stated })
    }
    expect(await recorded(write)).toEqual({ ...nothing, ...expected })
  },
)

async function writeSeveral(log: AuditLog): Promise<void> {
  await record(log, { ...insert, details: { branch: 'dev' } })
  await record(log, insert, made(3, 'dev'))
  const objects = [
    { operation: 'CreateTableVersion', id, details: { version: 7, branch: 'dev' } },
    { operation: 'CreateTableVersion', id: ['other'], details: { version: 8 } },
  ] as const
  await record(log, entry('BatchCreateTableVersions', { id: [], objects }))
}

it.each([
  ['branch', { branch: 'dev' }, { stated: [3, 7], unnumbered: 1 }],
  ['entry of a batch', { table: ['other'] }, { stated: [8] }],
])('keeps the versions of each %s apart', async (_, where, expected) => {
  expect(await recorded(writeSeveral, where)).toEqual({ ...nothing, ...expected })
})

it.each<[what: string, change: IntentEntry, outcome: Partial<OutcomeEntry>, expected: object]>([
  ['a new table', entry('CreateTable'), made(1), { stated: [1] }],
  ['a new table without a number', entry('CreateTable'), {}, { unnumbered: 1 }],
  ['a table that was overwritten', overwrite, made(3), { stated: [1, 2, 3] }],
  ['a table that begins again', overwrite, made(2), { stated: [2] }],
  ['a registered table', entry('RegisterTable', { effect: 'change' }), {}, { hasBaseline: true }],
  ['no table', entry('DropTable'), {}, {}],
  ['no namespace', entry('DropNamespace', { id: ['production'] }), {}, {}],
  ['no other namespace', entry('DropNamespace', { id: ['prod'] }), {}, { stated: [1, 2] }],
])('%s in place of another one has versions of its own', async (_, change, outcome, expected) => {
  const found = await recorded(async (log) => {
    for (const version of [1, 2]) await record(log, insert, made(version))
    await record(log, change, outcome)
  })
  expect(found).toEqual({ ...nothing, ...expected })
})

it.each([
  ['CreateTableBranch', made(3, 'dev')],
  ['DeleteTableBranch', made(3)],
] as const)('%s gives the branch other versions', async (operation, before) => {
  const write = async (log: AuditLog) => {
    await record(log, insert, before)
    await record(log, entry(operation, { effect: 'change', details: { name: 'dev' } }))
  }
  expect(await recorded(write, { branch: 'dev' })).toEqual({ ...nothing, hasBaseline: true })
})

it('versions move with their table', async () => {
  const details = { new_table_name: 'moved' }
  const write = async (log: AuditLog) => {
    await record(log, insert, made(2))
    await record(log, entry('RenameTable', { effect: 'change', details }))
  }
  expect(await recorded(write)).toEqual(nothing)
  expect(await recorded(write, { table: ['production', 'moved'] })).toEqual({ ...nothing, stated: [2] })
})

it('a table that is known keeps its versions if one without records takes its name', async () => {
  const renamed = { id: ['production', 'new'], details: { new_table_name: 'orders' } }
  const found = await recorded(async (log) => {
    await record(log, insert, made(2))
    await record(log, entry('RenameTable', { effect: 'change', ...renamed }))
  })
  expect(found).toEqual({ ...nothing, stated: [2] })
})

it('reads records of several gateways in the order of their times', async () => {
  const dropping = await openLog()
  const inserting = await openLog()
  await record(inserting.log, insert, made(2))
  await pause(2)
  await record(dropping.log, entry('DropTable'))
  const versions = createRecordedVersions([dropping.folder, inserting.folder], undefined)
  await versions.read()
  expect(summarize(versions.find(id, ''))).toEqual(nothing)
  for (const { log } of [dropping, inserting]) await log.close()
})

it('reads logs of several gateways, and later what was added to them', async () => {
  const folders = [await temporaryFolder(), await temporaryFolder()]
  const logs = await Promise.all(folders.map((folder) => openAuditLog(logOptions(folder))))
  for (const [index, log] of logs.entries()) {
    await record(log, insert)
    await record(log, insert, made(index + 1))
  }
  const versions = createRecordedVersions(folders, undefined)
  await versions.read()
  expect(summarize(versions.find(id, ''))).toEqual({ ...nothing, stated: [1, 2], unnumbered: 2 })
  for (const [index, log] of logs.entries()) await record(log, insert, made(index + 3))
  await logs[0]?.recordIntent(insert)
  await versions.read()
  expect(summarize(versions.find(id, ''))).toEqual({ ...nothing, stated: [1, 2, 3, 4], unnumbered: 3 })
  for (const log of logs) await log.close()
})

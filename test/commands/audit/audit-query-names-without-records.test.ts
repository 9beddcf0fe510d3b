import { beforeAll, expect, it } from 'vitest'
import { openAuditLog } from '../../../src/audit/log/audit-log.ts'
import { aRefusal, anIntent, committed, logOptions } from '../../audit/audit-fixtures.ts'
import { runCommand, type CommandEnd } from '../../support/run-command.ts'
import { makeTemporaryFolder, removeFolder, temporaryFolder } from '../../support/temporary-folder.ts'

let folder = ''

beforeAll(async () => {
  folder = await makeTemporaryFolder()
  const log = await openAuditLog(logOptions(folder))
  await log.recordOutcome(await log.recordIntent(anIntent('change')), committed)
  const rule = { policy: 'production', rule: 'no-drops', file: 'production.yaml', line: 20 }
  log.recordRefusal({ ...aRefusal('denied'), operation: 'DropTable', reason: 'denied', rule })
  await log.close()
  return () => removeFolder(folder)
})

const select = (command: string, parameters: readonly string[], where = folder): Promise<CommandEnd> =>
  runCommand(['audit', ...command.split(' '), where, ...parameters])

const commands = ['query', 'query --json']

it.each([
  [
    'an operation',
    ['--operation', 'CreateTabelVersion'],
    2,
    '"CreateTabelVersion"; did you mean "CreateTableVersion"?',
  ],
  ['a group of operations', ['--operation', 'wirte'], 2, 'has the operation "wirte"; did you mean "write"?'],
  ['a request', ['--request', 'unheard'], 1, 'no record of the request "unheard": recorded are changes,'],
  ['a start of fewer than 8 characters', ['--request', 'chang'], 1, 'no record of the request "chang"'],
])('refuses %s that does not exist', async (_, parameters, status, message) => {
  for (const command of commands) {
    const end = await select(command, parameters)
    expect(end).toMatchObject({ status, output: '', messages: expect.stringContaining(message) })
  }
})

const reads = '; reads are recorded only with audit.reads'

it.each([
  ['a known operation', ['--operation', 'AlterTableAddColumns'], ''],
  ['a known group of operations', ['--operation', 'create'], ''],
  ['a group of reads', ['--operation', 'query'], reads],
  ['a read', ['--operation', 'ListTables'], reads],
  ['a principal that no record has', ['--principal', 'corp:alise'], ''],
  ['names that do not occur together', ['--denied', '--rule', 'writers'], ''],
  ['an age', ['--until', '36500d', '--principal', 'corp:alice'], ''],
])('says that there are no records of %s, instead of an empty table', async (_, parameters, note) => {
  for (const command of commands) {
    const end = await select(command, parameters)
    expect(end).toMatchObject({ status: 0, output: '', messages: `no such records${note}\n` })
  }
})

it.each([
  ['commit', ['intent', 'outcome']],
  ['drop', ['refusal']],
])('the group of operations %s selects those in it, with their outcomes', async (group, kinds) => {
  const { output } = await select('query --json', ['--operation', group])
  const records = output.trim().split('\n')
  expect(records.map((line) => (JSON.parse(line) as { kind: string }).kind)).toEqual(kinds)
})

it('refuses a folder without a log', async () => {
  const end = await select('query', ['--denied'], await temporaryFolder())
  expect(end).toMatchObject({
    status: 1,
    output: '',
    messages: expect.stringContaining('contains no audit log'),
  })
})

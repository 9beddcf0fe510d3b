import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import { openAuditLog } from '../../../src/audit/log/audit-log.ts'
import { redactionSchema } from '../../../src/config/audit-settings.ts'
import { aRefusal, anIntent, committed, logOptions } from '../../audit/audit-fixtures.ts'
import { runCommand, type CommandEnd } from '../../support/run-command.ts'
import { makeTemporaryFolder, removeFolder } from '../../support/temporary-folder.ts'

let folder = ''
const inFolder = (name: string): string => join(folder, name)

beforeAll(async () => {
  folder = await makeTemporaryFolder()
  await writeFile(
    inFolder('gateway.yaml'),
    JSON.stringify({
      upstream: { url: 'https://catalog.example' },
      identity: { apiKeys: { store: 'keys.yaml', pepperFile: 'pepper' } },
      policies: { folder: 'policies' },
      audit: { folder: 'audit' },
    }),
  )
  const policyRevision = 'e'.repeat(64)
  const log = await openAuditLog(
    logOptions(inFolder('audit'), {
      redaction: redactionSchema.parse({ maxRecordedGroups: 1, recordedContextKeys: ['reason'] }),
    }),
  )
  const intent = await log.recordIntent({
    ...anIntent('change', { mode: 'Overwrite' }),
    principal: { ...anIntent('').principal, groups: new Set(['corp:b', 'corp:a', 'corp:c']) },
    policyRevision,
    context: { reason: 'INC-42 stuck batch' },
    objects: [{ operation: 'DropTable', id: ['production', 'orders'] }],
    rule: { policy: 'production', rule: 'writers', file: 'production.yaml', line: 6 },
  })
  await log.recordOutcome(intent, committed)
  const read = await log.recordIntent({ ...anIntent('read'), operation: 'QueryTable', effect: 'read' })
  await log.recordOutcome(read, { result: 'committed', status: 200 })
  const refusal = { ...aRefusal('denied'), operation: 'DropTable', reason: 'denied', policyRevision } as const
  const rule = { policy: 'production', rule: 'no-drops', file: 'production.yaml', line: 7 }
  log.recordRefusal({ ...refusal, rule, details: { needs: 'not \u001b allowed' } })
  log.recordRefusal({ ...refusal, request: 'no-rule', reason: 'no_rule' })
  log.recordRefusal({ request: 'nobody', status: 401, reason: 'missing_credential', client: '10.0.0.9' })
  await log.close()
  return () => removeFolder(folder)
})

const query = (...parameters: readonly string[]): Promise<CommandEnd> =>
  runCommand(['audit', 'query', ...parameters])
/** The rows under the headings, as label and text. */
const rowsOf = ({ output }: CommandEnd): string[][] =>
  [...output.matchAll(/^ {2}(\S+) +(.+)$/gm)].map(([, label = '', text = '']) => [label, text])

it('prints the change, its outcome, and the rule that allowed it with its line', async () => {
  const end = await query(inFolder('audit'), '--request', 'change')
  expect(end.status).toBe(0)
  expect([...end.output.matchAll(/^\S+Z {2}(\w+) {2}\S+:\d+$/gm)].map(([, kind]) => kind)).toEqual([
    'intent',
    'outcome',
  ])
  expect(rowsOf(end)).toEqual([
    ['operation', 'CreateTableVersion on production/orders'],
    ['requires', 'DropTable on production/orders'],
    ['principal', 'corp:alice (token 0123456789abcdef of corp)'],
    ['groups', 'corp:a, 2 more'],
    ['context', 'reason: INC-42 stuck batch'],
    ['client', '10.0.0.1'],
    ['upstream', 'main'],
    ['mode', 'Overwrite'],
    ['rule', 'allowed by production/writers (production.yaml:6)'],
    ['policies', expect.stringMatching(/^revision [0-9a-f]{64}$/)],
    ['result', 'committed version 7'],
    ['status', '200'],
    ['duration', '3 ms'],
  ])
})

it('finds the audit folder in the settings', async () => {
  const { status, output } = await query('--config', inFolder('gateway.yaml'), '--denied', '--last', '2')
  expect(status).toBe(0)
  expect(output.trimEnd().split('\n').slice(1)).toEqual([
    expect.stringMatching(/ refusal .* no-rule +- +DropTable +403 no_rule$/),
    expect.stringMatching(/ refusal .* nobody +- +- +401 missing_credential$/),
  ])
})

it('does not say that a read was committed', async () => {
  expect(rowsOf(await query(inFolder('audit'), '--request', 'read'))).toContainEqual(['result', 'completed'])
})

it.each([
  ['no-rule', ['rule', 'none: no rule allows it']],
  ['nobody', ['principal', 'none: no valid credential']],
  ['denied', ['groups', 'none']],
  ['denied', ['needs', 'not ? allowed']],
  ['denied', ['rule', 'denied by production/no-drops (production.yaml:7)']],
])('prints of the denial %s: %s', async (request, row) => {
  expect(rowsOf(await query(inFolder('audit'), '--request', request))).toContainEqual(row)
})

it('refuses a query without a folder', async () => {
  const end = await query('--request', 'denied')
  expect(end).toMatchObject({ status: 2, output: '', messages: expect.stringMatching(/^error: expected /) })
})

/** Tables, and records as JSON. */
const outputs = [[], ['--json']]

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
  for (const output of outputs) {
    const end = await query(inFolder('audit'), ...parameters, ...output)
    expect(end).toMatchObject({ status, output: '', messages: expect.stringContaining(message) })
  }
})

const reads = '; reads are recorded only with audit.reads'

it.each([
  ['a known operation', ['--operation', 'AlterTableAddColumns'], ''],
  ['a known group of operations', ['--operation', 'create'], ''],
  ['a group of reads', ['--operation', 'browse'], reads],
  ['a read', ['--operation', 'ListTables'], reads],
  ['a principal that no record has', ['--principal', 'corp:alise'], ''],
  ['names that do not occur together', ['--denied', '--rule', 'writers'], ''],
  ['an age', ['--until', '36500d', '--principal', 'corp:alice'], ''],
])('says that there are no records of %s, instead of an empty table', async (_, parameters, note) => {
  for (const output of outputs) {
    const end = await query(inFolder('audit'), ...parameters, ...output)
    expect(end).toMatchObject({ status: 0, output: '', messages: `no such records${note}\n` })
  }
})

it.each([
  ['commit', ['intent', 'outcome']],
  ['drop', ['refusal', 'refusal']],
])('the group of operations %s selects those in it, with their outcomes', async (group, kinds) => {
  const { output } = await query(inFolder('audit'), '--json', '--operation', group)
  const records = output.trim().split('\n')
  expect(records.map((line) => (JSON.parse(line) as { kind: string }).kind)).toEqual(kinds)
})

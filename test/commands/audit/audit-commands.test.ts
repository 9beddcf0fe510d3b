import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { appendFile, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import { openAuditLog } from '../../../src/audit/log/audit-log.ts'
import { aRefusal, anIntent, committed, logOptions, segmentsOf } from '../../audit/audit-fixtures.ts'
import { runCommand, type CommandEnd } from '../../support/run-command.ts'
import { makeTemporaryFolder, removeFolder, temporaryFolder } from '../../support/temporary-folder.ts'

const orders = 'production/orders'
let folder = ''
let publicKey = ''

beforeAll(async () => {
  folder = await makeTemporaryFolder()
  publicKey = join(folder, 'seal-public-key.pem')
  const log = await openAuditLog(logOptions(folder))
  for (const [request, name, id] of [
    ['a', 'corp:alice', ['production', 'orders']],
    ['86b8a4d6-4f32', 'corp:bob\u001b[2J', ['production', 'people']],
  ] as const) {
    const intent = anIntent(request)
    const principal = { ...intent.principal, name }
    await log.recordOutcome(await log.recordIntent({ ...intent, id, principal }), committed)
  }
  log.recordRefusal({ ...aRefusal('c'), operation: 'DropTable' })
  await log.close()
  return () => removeFolder(folder)
})

const audit = (...parameters: string[]): Promise<CommandEnd> => runCommand(['audit', ...parameters])
const linesOf = ({ output }: CommandEnd): string[] => output.trimEnd().split('\n')

it('verify checks the seals with a key, and prints the evidence for the verdict', async () => {
  const without = await audit('verify', folder)
  expect(without).toMatchObject({
    status: 0,
    output: 'good: 8 records in 1 chain, 0 changes without an outcome\n',
  })
  expect(without.messages).toMatch(/^2 seals, signatures not checked/)
  const checked = await audit('verify', folder, '--public-key', publicKey)
  expect(checked).toMatchObject({
    status: 0,
    messages: expect.stringMatching(/^2 seals, all signatures valid/),
  })
  const [, head = ''] = /^head: .* hash (\w{64})$/m.exec(checked.messages) ?? []
  // As docs/audit.md searches for it.
  expect((await audit('query', folder, '--json')).output).toContain(`"hash":"${head}"`)
  const { stdout } = await promisify(execFile)('grep', ['-rl', `"hash":"${head.slice(0, 12)}`, folder])
  expect(stdout.trim().split('\n')).toHaveLength(1)
  const secret = await audit('verify', folder, '--public-key', join(folder, 'seal-key.pem'))
  expect(secret).toMatchObject({ status: 1, messages: expect.stringMatching(/has a private key/) })
})

it.each([
  ['by table', ['--table', orders], ['intent', 'outcome', 'refusal']],
  ['by table, as in a path', ['--table', 'production$orders'], ['intent', 'outcome', 'refusal']],
  ['by table, as in a record', ['--table', '["production","orders"]'], ['intent', 'outcome', 'refusal']],
  ['by namespace', ['--table', 'production'], ['intent', 'outcome', 'intent', 'outcome', 'refusal']],
  ['by principal', ['--principal', 'corp:alice'], ['intent', 'outcome', 'refusal']],
  ['by operation', ['--operation', 'DropTable'], ['refusal']],
  ['by all of them', ['--operation', 'CreateTableVersion', '--table', orders], ['intent', 'outcome']],
  ['by time', ['--until', '2020-01-01T00:00:00Z'], []],
  ['from a time', ['--since', '2020-01-01T00:00:00Z', '--operation', 'DropTable'], ['refusal']],
  ['from an age', ['--since', '1h', '--operation', 'DropTable'], ['refusal']],
  ['by request', ['--request', '86b8a4d6-4f32'], ['intent', 'outcome']],
  ['by the start of a request id', ['--request', '86b8a4d6'], ['intent', 'outcome']],
  ['by rule', ['--rule', 'writers', '--request', '86b8a4d6-4f32'], ['intent', 'outcome']],
  [
    'by rule of a policy',
    ['--rule', 'production/writers', '--request', '86b8a4d6-4f32'],
    ['intent', 'outcome'],
  ],
  ['refused requests', ['--denied'], ['refusal']],
  ['the newest', ['--last', '2', '--table', orders], ['outcome', 'refusal']],
  ['the newest, of fewer', ['--last', '9', '--denied'], ['refusal']],
])('query selects %s', async (_, filters, kinds) => {
  const { status, output } = await audit('query', folder, ...filters, '--json')
  const records = output.split('\n').slice(0, -1)
  expect(status).toBe(0)
  expect(records.map((line) => (JSON.parse(line) as { kind: string }).kind)).toEqual(kinds)
})

it('query prints a table that control characters in names cannot break', async () => {
  const lines = linesOf(await audit('query', folder))
  expect(lines[0]).toMatch(
    /^TIME +CHAIN:SEQ +KIND +PRINCIPAL +OPERATION +OBJECT +REQUEST +RULE +PERMISSION +RESULT$/,
  )
  expect(lines).toHaveLength(9)
  expect(lines[4]).toMatch(
    / outcome +corp:alice +CreateTableVersion +production\/orders +a +production\/writers +CreateTableVersion +committed version 7$/,
  )
  expect(lines[5]).toMatch(/ intent +corp:bob\?\[2J /)
})

it('verify reports a broken log by file and line, also as JSON, and accepts a torn tail', async () => {
  const [name = ''] = await segmentsOf(folder)
  const file = join(folder, name)
  const good = await readFile(file)
  const report = async () => JSON.parse((await audit('verify', folder, '--json')).output) as unknown
  const head = { hash: expect.stringMatching(/^\w{64}$/) }
  expect(await report()).toMatchObject({ ok: true, signaturesChecked: false, chains: 1, unresolved: 0, head })
  await appendFile(file, '{}\n')
  const what = 'the line has no hash at its end'
  expect(await audit('verify', folder)).toEqual({
    status: 1,
    output: '',
    messages: `broken: ${name}:9: ${what}\n8 records in 1 chain, 0 changes without an outcome\n`,
  })
  expect(await report()).toMatchObject({ ok: false, problems: [{ file: name, what }] })
  await writeFile(file, good.subarray(0, -10))
  const torn = await audit('verify', folder)
  await writeFile(file, good)
  expect(torn).toMatchObject({ status: 0, messages: expect.stringMatching(/^torn tail: /m) })
})

it.each(['verify', 'query'])('%s refuses a folder without a log', async (command) => {
  const empty = await temporaryFolder()
  expect(await audit(command, empty)).toMatchObject({
    status: 1,
    output: '',
    messages: expect.stringMatching(/contains no audit log/),
  })
  expect(await audit(command, join(empty, 'none'))).toMatchObject({
    status: 1,
    messages: expect.stringMatching(/does not exist/),
  })
})

it.each([
  ['query', ['audit', 'query'], 8],
  ['query --last', ['audit', 'query', '--last', '3'], 4],
  ['policy replay', ['policy', 'replay', '--candidate', 'policies/examples', '--audit'], 1],
])('%s reports a damaged line, reads on, and ends with status 1', async (_, command, lines) => {
  const [name = ''] = await segmentsOf(folder)
  const file = join(folder, name)
  const good = await readFile(file, 'utf8')
  const damaged = good
    .split('\n')
    .map((line, at) => (at === 4 ? line.replace('"intent"', '"int\0nt"') : line))
  await writeFile(file, damaged.join('\n'))
  const end = await runCommand([...command, folder])
  await writeFile(file, good)
  const what = 'the line is not a record of format version 1'
  expect(end).toMatchObject({
    status: 1,
    messages: expect.stringContaining(`${name}:5: ${what}\n1 problem in`),
  })
  expect(linesOf(end).filter((line) => line.startsWith('20') || line.includes('calls:')).length).toBe(
    command[0] === 'policy' ? 1 : lines - 1,
  )
})

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { stringify } from 'yaml'
import { projectFolder } from '../../e2e/built-program.ts'
import { folderWith } from '../../policy/source/policy-folder.ts'
import { runCommand } from '../../support/run-command.ts'

const examples = join(projectFolder, 'policies', 'examples')
const policy = (...parameters: string[]) => runCommand(['policy', ...parameters])

/** Creates a folder with these documents in `policies.yaml`. */
function folderOf(...documents: readonly object[]): Promise<string> {
  const texts = documents.map((document) =>
    stringify(
      { apiVersion: 'catalog-gateway/v1', kind: 'AccessPolicy', ...document },
      { aliasDuplicateObjects: false },
    ),
  )
  return folderWith({ 'policies.yaml': texts.join('---\n') })
}

const sales = {
  metadata: { name: 'sales' },
  namespace: ['sales'],
  rules: [
    { id: 'write', effect: 'allow', subjects: { groups: ['engineers'] }, operations: ['read', 'write'] },
    { id: 'no-dev', effect: 'deny', subjects: { users: ['eve'] }, operations: ['write'] },
  ],
}

it.for(['development', 'examples'])(
  'there is nothing to say against policies/%s but a grant that ended and a namespace that is hidden',
  async (name) => {
    const folder = join(projectFolder, 'policies', name)
    const { status, output } = await policy('lint', '--strict', '--policies', folder)
    expect({ status, output }).toMatchObject({
      status: 0,
      output: expect.stringMatching(/^(.+ accepted +(?:until|effect) .+\n)*0 errors, 0 warnings/),
    })
  },
)

it('tests of a shadow policy are decided as if it were in force, other tests without it', async () => {
  const object = { as: { user: 'eve' }, operations: ['InsertIntoTable'], table: ['sales', 'orders'] }
  const shadow = {
    ...sales,
    mode: 'shadow',
    metadata: { name: 'next' },
    rules: [{ id: 'eve', effect: 'allow', subjects: { users: ['eve'] }, operations: ['read'] }],
    tests: [{ ...object, operations: ['QueryTable'], expect: 'allow', rule: 'next/eve' }],
  }
  const folder = await folderOf({ ...sales, tests: [{ ...object, expect: 'deny' }] }, shadow)
  const { status, output } = await policy('test', '--policies', folder)
  expect({ status, output }).toMatchObject({
    status: 0,
    output: expect.stringMatching(/^2 of 2 tests passed/),
  })
})

it('a failed test reports expectation, decision and their locations', async () => {
  const object = { operations: ['InsertIntoTable', 'UpdateTable'], table: ['sales', 'orders'] }
  const tests = [
    { as: { user: 'sam', groups: ['engineers'] }, ...object, expect: 'allow', rule: 'write' },
    { name: 'eve <writes>', as: { user: 'eve', groups: ['engineers'] }, ...object, expect: 'allow' },
  ]
  const folder = await folderOf({ ...sales, tests })
  const { status, output, messages } = await policy('test', '--policies', folder)
  expect({ status, messages }).toEqual({ status: 1, messages: '1 of 2 tests failed\n' })
  expect(output).toMatch(
    /^FAILED policies\.yaml:36 {2}sales: eve <writes>\n {2}InsertIntoTable, UpdateTable\n/,
  )
  expect(output).toContain('expected  allow\n    decided   deny by sales/no-dev (policies.yaml:16)\n')
})

it('a policy that has only tests may test all others', async () => {
  const folder = await folderOf(sales)
  const missing = await policy('test', '--policies', folder)
  expect(missing).toMatchObject({ status: 1, messages: expect.stringContaining('no tests in') })
  const test = {
    as: { groups: ['engineers'] },
    operations: ['write'],
    table: ['sales', 'orders'],
    expect: 'allow',
  }
  const tests = await folderOf({
    ...sales,
    metadata: { name: 'writers' },
    namespace: [],
    rules: undefined,
    tests: [test],
  })
  expect(await policy('test', '--policies', folder, '--policies', tests)).toMatchObject({
    status: 0,
    output: expect.stringContaining('(7 decisions)\nuntested: sales/no-dev\n'),
  })
})

it('a rule of a policy with forEach counts once, and is covered if it is for each value', async () => {
  const tests = [{ as: { groups: ['crm'] }, operations: ['query'], table: ['crm', 't'], expect: 'allow' }]
  const rule = { id: 'r', effect: 'allow', subjects: { groups: ['{team}'] }, operations: ['query'] }
  const template = { forEach: { team: ['crm', 'hr'] }, namespace: ['{team}'], rules: [rule], tests }
  const folder = await folderOf({ ...sales, metadata: { name: 'teams' }, ...template })
  expect(await policy('test', '--policies', folder)).toMatchObject({
    status: 0,
    output: expect.stringContaining('(14 decisions)\nuntested: teams/r\n'),
  })
})

it.each(['explain', 'what-can'])('%s notes a group that no rule names', async (command) => {
  const object = command === 'explain' ? ['InsertIntoTable', 'payments/booked'] : []
  const caller = ['--policies', examples, '--as', 'rita', '--group', 'break-glas']
  const { status, messages } = await policy(command, ...caller, ...object)
  expect({ status, messages }).toEqual({
    status: 0,
    messages: 'note: no rule names the group "break-glas"; did you mean "break-glass"?\n',
  })
})

it('a listing that no rule allows is explained as the gateway decides it: by what is visible beneath', async () => {
  const deny = { id: 'hide', effect: 'deny', subjects: { users: ['eve'] }, operations: ['ListNamespaces'] }
  const root = { metadata: { name: 'root' }, namespace: [], rules: [deny] }
  const explain = [
    'explain',
    '--policies',
    await folderOf(sales, root),
    '--group',
    'engineers',
    'ListNamespaces',
    '/',
  ]
  expect(await policy(...explain, '--as', 'sam')).toMatchObject({
    output: expect.stringMatching(
      /^allowed {2}sam: ListNamespaces on \/\n {2}no rule allows it itself, but it shows what is visible beneath, by sales\/write \(/,
    ),
  })
  const { output } = await policy(...explain, '--as', 'sam', '--json')
  expect(JSON.parse(output)).toMatchObject({
    decision: { allowed: true, rule: { rule: 'write' } },
    isByVisibility: true,
  })
  expect((await policy(...explain, '--as', 'eve')).output).toMatch(/^denied .*\n {2}by root\/hide /)
  const others = ['--policies', await folderOf(sales), '--as', 'eve', 'ListNamespaces']
  expect((await policy('explain', ...others, '/')).output).toMatch(/^denied .*\n {2}no rule allows it\n/)
  const { messages } = await policy('who-can', '--policies', await folderOf(sales), 'ListNamespaces', '/')
  expect(messages).toBe(
    'note: ListNamespaces is also allowed to callers that may see something beneath, and then shows them that; see `policy explain`\n',
  )
})

it('says that a group of operations is no operation', async () => {
  const { status, messages } = await policy('who-can', '--policies', examples, 'write', 'payments/booked')
  expect(status).toBe(2)
  expect(messages).toMatch(/^error: write is a group of operations; expected one, such as InsertIntoTable\n/)
})

it('explain shows the deciding rule and the results of the rules before it', async () => {
  const rita = ['--policies', examples, '--as', 'rita', '--group', 'break-glass']
  const call = ['InsertIntoTable', 'payments/booked']
  const denied = await policy('explain', ...rita, ...call)
  expect(denied).toMatchObject({ status: 0, messages: '' })
  expect(denied.output).toMatch(
    /^denied {2}rita: InsertIntoTable on payments\/booked\n {2}no rule allows it\n/,
  )
  expect(denied.output).toMatch(
    /payments\/break-glass \(break-glass\.yaml:\d+\) +does not apply: .* is false/,
  )
  expect(denied.output).toMatch(/payments\/service .* other subjects: user payments-service/)
  expect(denied.output).toContain('inherit: false')
  const withReason = ['--fact', 'context.reason=INC-42 stuck batch']
  const allowed = await policy('explain', '--json', ...rita, ...call, ...withReason)
  expect(JSON.parse(allowed.output)).toMatchObject({
    decision: { allowed: true, rule: { policy: 'payments', rule: 'break-glass' } },
  })
})

it('explain shows whom the caller may ask', async () => {
  const ann = ['--policies', examples, '--as', 'ann', '--group', 'sales-analysts', 'DropTable']
  const denied = await policy('explain', ...ann, 'sales/orders')
  expect(denied.output).toContain('no rule allows it\n  response 403\n    contact  #sales-data\n')
  const hidden = await policy('explain', '--json', ...ann, 'marketing/orders')
  expect(JSON.parse(hidden.output)).not.toHaveProperty('contact')
})

it('explain, who-can and what-can show the end of a rule', async () => {
  const call = ['InsertIntoTable', 'payments/booked']
  const noor = ['--as', 'corp:noor']
  const reference = /by payments\/incident \(break-glass\.yaml:\d+\), until 2026-01-01T08:00:00Z\n/
  const explained = await policy(
    'explain',
    '--policies',
    examples,
    ...noor,
    '--fact',
    'now=2026-01-01T07:00:00Z',
    ...call,
  )
  expect(explained.output).toMatch(reference)
  const ended = await policy('explain', '--policies', examples, ...noor, ...call)
  expect(ended.output).toMatch(/^denied {2}corp:noor: .*\n {2}no rule allows it\n/)
  expect((await policy('who-can', '--policies', examples, ...call)).output).toMatch(reference)
  expect((await policy('what-can', '--policies', examples, ...noor)).output).toMatch(reference)
  const { rule } = JSON.parse((await policy('who-can', '--policies', examples, '--json', ...call)).output)
    .allowed[0]
  expect(rule).toMatchObject({ until: '2026-01-01T08:00:00Z' })
})

it('who-can lists every caller with conditions and denying rules', async () => {
  const folder = await folderOf(sales)
  const { output } = await policy('who-can', '--policies', folder, 'InsertIntoTable', 'sales/orders')
  expect(output).toMatch(
    /^InsertIntoTable on sales\/orders:\n {2}group engineers {2}by sales\/write \(policies\.yaml:\d+\)\n/,
  )
  expect(output).toMatch(/unless denied: user eve {2}by sales\/no-dev/)
  const nobody = await policy('who-can', '--policies', folder, 'DropTable', 'sales/orders')
  expect(nobody.output).toBe('DropTable on sales/orders: nobody\n')
})

it('what-can lists the permissions of a caller and their objects', async () => {
  const groups = ['--group', 'employees', '--group', 'model-owners']
  const { output } = await policy('what-can', '--policies', examples, ...groups)
  expect(output).toMatch(/^company and beneath\n {2}read {2}by company\/employees-read /)
  expect(output).toContain('company/hr and beneath: nothing\n')
  expect(output).toMatch(
    /unless denied: CreateTableVersion, ChooseLocation, ChooseStorage if it fails the requirement/,
  )
  const stranger = await policy('what-can', '--policies', examples, '--as', 'stranger')
  expect(stranger.output).toBe('stranger may do nothing\n')
})

it('lint separates errors from warnings, each with its location', async () => {
  const everybody = { id: 'all', effect: 'allow', subjects: { any: true }, operations: ['drop'] }
  const never = { ...everybody, id: 'never', subjects: { users: ['al'] }, when: '1 == 2' }
  const folder = await folderOf({ metadata: { name: 'top' }, namespace: [], rules: [everybody, never] })
  await writeFile(join(folder, 'deny.yml.bak'), '')
  const { status, output, messages } = await policy('lint', '--policies', folder, '--json')
  expect({ status, messages }).toMatchObject({ status: 1, messages: '1 error, 2 warnings in 1 policy\n' })
  expect(JSON.parse(output)).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ level: 'warning', check: 'everybody', file: 'policies.yaml', rule: 'all' }),
      expect.objectContaining({ level: 'error', check: 'condition', file: 'policies.yaml', rule: 'never' }),
      expect.objectContaining({ level: 'info', check: 'ignored' }),
    ]),
  )
})

it('diff lists who gains and who loses what, and where', async () => {
  const before = await folderOf(sales)
  expect((await policy('diff', before, before)).output).toBe('no decision changes\n')
  const [write, deny] = sales.rules
  const after = await folderOf({ ...sales, rules: [{ ...write, operations: ['read', 'drop'] }, deny] })
  const { status, output } = await policy('diff', before, after, '--fail-on-change')
  expect(status).toBe(1)
  expect(output).toMatch(/^ {2}loses {2}sales and what no policy names beneath: write\n/m)
  expect(output).toMatch(/^group engineers\n {2}gains {2}sales and what no policy names beneath: drop\n/)
  expect(output).toMatch(
    /before: allowed by sales\/write \(policies\.yaml:\d+\)\n {4}after: {2}denied, as no rule/,
  )
})

function teams(values: readonly string[], ...more: readonly string[]): object {
  return {
    metadata: { name: 'teams' },
    namespace: ['{team}'],
    forEach: { team: values },
    rules: [{ id: 'all', effect: 'allow', subjects: { groups: ['{team}'] }, operations: ['read', ...more] }],
  }
}

it('diff lists a change of a policy for many teams once', async () => {
  const all = ['crm', 'hr', 'web']
  const before = await folderOf(teams(all))
  const { output } = await policy('diff', before, await folderOf(teams(all, 'DropTable')))
  expect(output).toMatch(
    /^group \{team\}\n {2}gains {2}\{team\} and what no policy names beneath: DropTable\n {4}before: .*\n {4}after: {2}allowed by teams\[\{team\}\]\/all \(\S+\)\n$/,
  )
  const fewer = await policy('diff', before, await folderOf(teams(['crm', 'hr'], 'DropTable')))
  expect(fewer.output).toMatch(
    /^group crm\n(?:.*\n){2}.*after: {2}allowed by teams\[crm\]\/all \(\S+\) \(team: crm and 1 more\)\n/,
  )
  expect(fewer.output).toMatch(
    /^group web\n {2}loses {2}web and .*\n.*teams\[web\].*\n.*no rule allows it \(team: web\)\n$/m,
  )
  const wall = {
    metadata: { name: 'wall' },
    namespace: [],
    rules: [{ id: 'no-reads', effect: 'deny', subjects: { any: true }, operations: ['read'] }],
  }
  const walled = await policy('diff', before, await folderOf(teams(all), wall))
  expect(walled.output).toMatch(
    /^group \{team\}\n {2}loses {2}\{team\} and what no policy names beneath: .*\n {4}before: .*\n {4}after: {2}denied by wall\/no-reads \(\S+\)\n/,
  )
  expect(walled.output).not.toContain('group crm')
})

import { randomBytes } from 'node:crypto'
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { makeTemporaryFolder, removeFolder } from '../support/temporary-folder.ts'
import { createKey } from '../../src/identity/api-keys/key-store.ts'
import { ofKind, recordsOf } from '../audit/audit-fixtures.ts'
import {
  respondWith,
  startRecordingUpstream,
  type RecordingUpstream,
} from '../gateway/support/recording-upstream.ts'
import { formatPolicies } from '../policy/policy-builder.ts'
import { projectFolder, startNode, type Program } from './built-program.ts'

/*
 * A copy of the sources whose operations table has two more entries. Everything else must follow from them: nothing in
 * the copy but the table, the schemas and what is printed of these knows the operations.
 */
const entries = `
  CompactTable: onTable('compact', commits('admin', undelegated), {
    summary: 'Compacts a table',
    facts: { branch: ['body.branch'], mode: ['body.mode'] },
    modes: ['Append', 'Overwrite'],
    recorded: ['target_rows'],
    requires: [overwriteTable, readAnyTableIf('udf'), useFunction],
    versions: 'next',
  }),
  SampleTable: onTable('sample', reads('query'), { summary: 'Samples rows of a table' }),
`
const additions: readonly (readonly [file: string, before: string, added: string])[] = [
  ['src/catalog-api/operations.ts', 'export const operations = {', entries],
  [
    'src/backend/schemas/operation-schemas.ts',
    'export const operationSchemas = {',
    `CompactTable: {
       request: requestSchema({ branch: z.string().optional(), mode: z.string().optional(), target_rows: z.int().optional(),
         steps: z.array(z.object({ udf: z.string() })).optional(), function: z.record(z.string(), z.unknown()).optional() }),
       response: responseSchema({ version: z.int() }),
     },
     SampleTable: { request: requestSchema({}), response: responseSchema({}) },`,
  ],
  [
    'src/backend/schemas/operation-schemas.ts',
    '',
    `import { z } from 'zod'\nimport { requestSchema, responseSchema } from './members.ts'\n`,
  ],
]

const testFolders = ['test/catalog-api', 'test/commands', 'test/config', 'test/policy', 'test/support']
const copied = ['src', 'docs', 'policies', ...testFolders, 'package.json', 'tsconfig.json']

const callers = {
  nobody: [],
  lister: ['ListTables'],
  named: ['CompactTable'],
  grouped: ['admin', 'query'],
  replacer: ['CompactTable', 'OverwriteTable'],
} as const
type Caller = keyof typeof callers

const keys = new Map<string, string>()
let folder = ''
let upstream: RecordingUpstream
let program: Program
let url = ''

const run = (script: string, ...parameters: string[]): Program =>
  startNode(['--import', 'tsx', script, ...parameters], { folder })

beforeAll(async () => {
  folder = await makeTemporaryFolder()
  upstream = await startRecordingUpstream()
  await copySources()
  await printSchemas()
  await writeSettings()
  program = run('src/main.ts', 'serve', '--config', 'gateway.yaml')
  url = await program.announced(/^listening on (http:\S+)$/m)
}, 120_000)
beforeEach(() => {
  upstream.requests.length = 0
  upstream.answering = respondWith(200, { version: 2 })
})
afterAll(async () => {
  program.signal('SIGTERM')
  await program.ended
  await upstream.close()
  await removeFolder(folder)
})

async function copySources(): Promise<void> {
  for (const path of copied) await cp(join(projectFolder, path), join(folder, path), { recursive: true })
  await symlink(join(projectFolder, 'node_modules'), join(folder, 'node_modules'))
  for (const [file, before, added] of additions) {
    const text = await readFile(join(folder, file), 'utf8')
    expect(text).toContain(before)
    await writeFile(join(folder, file), text.replace(before, before + added))
  }
}

async function printSchemas(): Promise<void> {
  const script = `
    import { writeFileSync } from 'node:fs'
    import { printOperationSchemas } from './test/catalog-api/operation-schemas.ts'
    writeFileSync('src/catalog-api/schemas.json', printOperationSchemas())`
  await writeFile(join(folder, 'print-schemas.mts'), script)
  expect(await run('print-schemas.mts').ended).toMatchObject({ status: 0 })
}

async function writeSettings(): Promise<void> {
  const pepper = randomBytes(32).toString('base64url')
  await writeFile(join(folder, 'keys.yaml'), 'keys: []\n')
  await writeFile(join(folder, 'pepper'), pepper)
  for (const principal of Object.keys(callers)) {
    const created = { principal, groups: [] }
    keys.set(principal, (await createKey(join(folder, 'keys.yaml'), Buffer.from(pepper), created)).text)
  }
  const rules = Object.entries(callers)
    .filter(([, operations]) => operations.length > 0)
    .map(([name, operations]) => {
      return { id: name, effect: 'allow' as const, subjects: { users: [name] }, operations: [...operations] }
    })
  await mkdir(join(folder, 'access'))
  await writeFile(
    join(folder, 'access', 'sales.yaml'),
    formatPolicies([{ name: 'sales', namespace: ['sales'], rules }]),
  )
  const settings = {
    listen: { port: 0 },
    admin: { port: 0 },
    upstream: { url: upstream.url },
    identity: { apiKeys: { store: 'keys.yaml', pepperFile: 'pepper' } },
    policies: { folder: 'access' },
    audit: { folder: 'audit' },
  }
  await writeFile(join(folder, 'gateway.yaml'), stringify(settings))
}

const post = (as: Caller, target: string, body: object = {}): Promise<Response> =>
  fetch(url + target, {
    method: 'POST',
    headers: { 'x-api-key': keys.get(as) ?? '', 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
const arrived = () => upstream.requests.filter(({ target }) => target.startsWith('/v1/table/'))
const compact = '/v1/table/sales$orders/compact'

it.each<[Caller, number]>([
  ['nobody', 404],
  ['lister', 403],
])('is refused without a rule, and concealed from callers that may not list: %s', async (as, status) => {
  const response = await post(as, compact)
  expect(response.status).toBe(status)
  const text = await response.text()
  expect(text.includes('CompactTable')).toBe(status === 403)
  expect(arrived()).toEqual([])
})

it.each<[Caller, string]>([
  ['named', compact],
  ['grouped', compact],
  ['grouped', '/v1/table/sales$orders/sample'],
])('is allowed by its name and its group: %s', async (as, target) => {
  expect((await post(as, target)).status).toBe(200)
  expect(arrived()).toMatchObject([{ method: 'POST', target: target.replace('$', '%24') }])
})

it('requires what its entry says', async () => {
  const refused = async (as: Caller, body: object) => (await post(as, compact, body)).text()
  const overwrite = { mode: 'overwrite' }
  expect(await refused('named', overwrite)).toContain('not allowed OverwriteTable (mode=overwrite)')
  expect(await refused('named', { steps: [{ udf: 'AAAA' }] })).toContain('not allowed ReadAnyTable (udf)')
  const reference = { name: 'embed', namespace_path: ['lib'] }
  const body = { function: { application: { function: reference } } }
  expect(await refused('grouped', body)).toContain('not allowed UseFunction')
  expect(arrived()).toEqual([])
  expect((await post('replacer', compact, overwrite)).status).toBe(200)
})

it('is recorded with its facts and members', async () => {
  await post('replacer', compact, { branch: 'ci/1', mode: 'Overwrite', target_rows: 100 })
  const records = await recordsOf(join(folder, 'audit'))
  expect(ofKind(records, 'intent').at(-1)).toMatchObject({
    operation: 'CompactTable',
    id: ['sales', 'orders'],
    effect: 'commit',
    objects: [{ operation: 'OverwriteTable', id: ['sales', 'orders'] }],
    details: { branch: 'ci/1', mode: 'overwrite', target_rows: 100 },
  })
  expect(ofKind(records, 'outcome').at(-1)).toMatchObject({
    result: 'committed',
    versions: [{ branch: 'ci/1', version: 2 }],
  })
})

it.each([{ unheard_of: 1 }, { steps: [{ unheard_of: 1 }] }, { target_rows: 'all' }, { TargetRows: 1 }])(
  'takes only the members of its schema: %j is refused',
  async (body) => {
    const response = await post('replacer', compact, body)
    expect([response.status, await response.text()]).toEqual([
      400,
      expect.stringMatching(/has no member|expected a number|is ambiguous/) as string,
    ])
    expect(arrived()).toEqual([])
  },
)

it('is in the OpenAPI document', async () => {
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as {
    paths: Record<string, { post?: object }>
  }
  expect(document.paths['/v1/table/{id}/compact']?.post).toMatchObject({
    operationId: 'CompactTable',
    'x-group': 'admin',
    'x-facts': { branch: ['body.branch'], mode: ['body.mode'] },
  })
})

it('is in the reference of policies', async () => {
  expect(await run('test/support/write-reference.ts').ended).toMatchObject({ status: 0 })
  const reference = await readFile(join(folder, 'docs', 'policy-reference.md'), 'utf8')
  expect(reference).toMatch(/^\| `OverwriteTable` +\| the same object +\|.* the body .*`CompactTable`/m)
  expect(reference).toMatch(/^\| `mode` +\| the member `mode` of the body +\|.*`CompactTable`/m)
})

it('is delegated as its entry or its group says', async () => {
  const script = `
    import { isDelegated } from './src/catalog-api/permissions.ts'
    console.log(['CompactTable', 'SampleTable'].map(isDelegated).join())`
  await writeFile(join(folder, 'delegated.mts'), script)
  expect((await run('delegated.mts').ended).output).toBe('false,true\n')
})

import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { stringify } from 'yaml'
import { readComparison } from '../../../src/audit/compare/last-comparison.ts'
import { openAuditLog } from '../../../src/audit/log/audit-log.ts'
import { anIntent, committed, logOptions } from '../../audit/audit-fixtures.ts'
import { respondWith, startRecordingUpstream } from '../../gateway/support/recording-upstream.ts'
import { runCommand } from '../../support/run-command.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

interface Listed {
  readonly version: number
  readonly timestamp_millis?: number
}

/** Versions of each branch, by the path of the table. */
type Catalog = Readonly<Record<string, Readonly<Record<string, readonly Listed[]>>>>

const soon = Date.now() + 60_000
const since = (...versions: readonly number[]): Listed[] =>
  versions.map((version) => ({ version, timestamp_millis: soon + version }))

/** Starts a catalog whose pages have one entry, with a log that states the versions 1 and 2 of `sales/orders`. */
async function compare(catalog: Catalog, parameters: readonly string[] = [], audit: object = {}) {
  const upstream = await startRecordingUpstream()
  onTestFinished(() => upstream.close())
  upstream.handler = (arrival, ...rest) => {
    const { pathname, searchParams } = new URL(arrival.target, upstream.url)
    const { status = 200, body } = listPage(catalog, decodeURIComponent(pathname), searchParams)
    return respondWith(status, body)(arrival, ...rest)
  }
  const folder = await temporaryFolder()
  const config = join(folder, 'gateway.yaml')
  await mkdir(join(folder, 'policies'))
  await writeFile(
    config,
    stringify({
      upstream: { url: upstream.url, credential: { header: 'authorization', value: 'Bearer own' } },
      identity: { anonymous: true },
      policies: { folder: 'policies' },
      audit: { folder: 'audit', ...audit },
    }),
  )
  const log = await openAuditLog(logOptions(join(folder, 'audit')))
  const id = ['sales', 'orders']
  for (const version of [1, 2]) {
    const intent = { ...anIntent(`${version}`), operation: 'InsertIntoTable', id } as const
    await log.recordOutcome(await log.recordIntent(intent), { ...committed, versions: [{ id, version }] })
  }
  await log.close()
  const end = await runCommand(['audit', 'compare', '--config', config, ...parameters])
  return { ...end, requests: upstream.requests, saved: await readComparison(join(folder, 'audit')) }
}

function listPage(catalog: Catalog, path: string, query: URLSearchParams): { status?: number; body: object } {
  const [, kind, name = '', action] = /^\/v1\/(namespace|table)\/(.+?)\/(.+)$/.exec(path) ?? []
  const id = name === '$' ? '' : name.replaceAll('$', '/')
  if (kind === 'namespace') {
    const beneath = Object.keys(catalog).filter((table) => id === '' || table.startsWith(`${id}/`))
    const rest = beneath.map((table) => (id === '' ? table : table.slice(id.length + 1)).split('/'))
    const isTable = action === 'table/list'
    const names = rest.filter((parts) => (parts.length === 1) === isTable).map(([first = '']) => first)
    const [found, page_token] = pageOf([...new Set(names)], query)
    return { body: { [isTable ? 'tables' : 'namespaces']: found, page_token } }
  }
  const branches = catalog[id]
  if (branches === undefined) return { status: 404, body: { error: 'no such table', code: 4 } }
  if (action === 'branches/list') {
    const named = Object.fromEntries(Object.keys(branches).map((branch) => [branch, {}]))
    return { body: { branches: named } }
  }
  const all = branches[query.get('branch') ?? 'main']
  if (all === undefined) return { status: 500, body: { error: 'broken', code: 18 } }
  const [versions, page_token] = pageOf(all, query)
  return { body: { versions, page_token } }
}

function pageOf<Item>(items: readonly Item[], query: URLSearchParams): readonly [Item[], string | undefined] {
  const from = Number(query.get('page_token') ?? 0)
  return [items.slice(from, from + 1), from + 1 < items.length ? String(from + 1) : undefined]
}

it('finds nothing if records explain every version', async () => {
  const { status, output, messages, requests } = await compare({ 'sales/orders': { main: since(1, 2) } })
  expect({ status, output }).toEqual({ status: 0, output: '' })
  expect(messages).toBe('2 versions of 1 table compared\n')
  expect(requests.every(({ rawHeaders }) => rawHeaders.includes('Bearer own'))).toBe(true)
})

it('names each version that no record explains, with its table, branch and time', async () => {
  const catalog = {
    'sales/orders': { main: since(1, 2, 3), dev: since(2) },
    'sales/eu/new': { main: [{ version: 1 }] },
    other: { main: since(4) },
  }
  const { status, output, messages, saved } = await compare(catalog)
  expect(status).toBe(1)
  expect(output.split('\n').toSorted()).toEqual(
    [
      '',
      `${new Date(soon + 4).toISOString()}  other  branch main  version 4`,
      `${new Date(soon + 3).toISOString()}  sales/orders  branch main  version 3`,
      `${new Date(soon + 2).toISOString()}  sales/orders  branch dev  version 2`,
      'unknown time  sales/eu/new  branch main  version 1',
    ].toSorted(),
  )
  expect(messages).toContain('6 versions of 3 tables compared\n')
  expect(messages).toContain('4 versions without a record that explains it')
  expect(saved).toMatchObject({ tables: 3, versions: 6, unexplained: 4, problems: [] })
  expect(saved?.found).toContainEqual({
    id: ['sales', 'orders'],
    branch: 'dev',
    version: 2,
    time: new Date(soon + 2).toISOString(),
  })
  const json = await compare(catalog, ['--json', '--namespace', 'sales/orders'])
  expect(json).toMatchObject({ status: 1, output: '' })
  expect(json.messages).toContain('no table is beneath sales/orders; expected a namespace')
  const beneath = await compare(catalog, ['--json', '--namespace', 'sales'])
  expect(beneath.status).toBe(1)
  expect(
    beneath.output
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object),
  ).toEqual([
    {
      upstream: 'catalog',
      id: ['sales', 'orders'],
      branch: 'main',
      version: 3,
      time: new Date(soon + 3).toISOString(),
    },
    {
      upstream: 'catalog',
      id: ['sales', 'orders'],
      branch: 'dev',
      version: 2,
      time: new Date(soon + 2).toISOString(),
    },
    { upstream: 'catalog', id: ['sales', 'eu', 'new'], branch: 'main', version: 1 },
  ])
})

it('compares versions from the first record on, or from the stated time', async () => {
  const catalog = { old: { main: [{ version: 1, timestamp_millis: Date.parse('2020-06-01T00:00:00Z') }] } }
  expect(await compare(catalog)).toMatchObject({ status: 0, output: '' })
  expect(await compare(catalog, ['--since', '2020-01-01T00:00:00Z'])).toMatchObject({ status: 1 })
  expect(await compare(catalog, ['--since', '2020-07-01T00:00:00Z'])).toMatchObject({ status: 0 })
})

it('a table that cannot be read fails the command, and hides no version of another one', async () => {
  const { status, output, messages } = await compare({ a: { dev: [] }, b: { main: since(1) } })
  expect(status).toBe(1)
  expect(output).toMatch(/^\S+ {2}b {2}branch main {2}version 1\n$/)
  expect(messages).toContain('the versions of the table a cannot be read: the upstream returned status 500')
})

it('says that records that nothing waits for may be missing', async () => {
  const { messages } = await compare({}, [], { mode: 'besteffort' })
  expect(messages).toContain('with audit.mode: besteffort, the log may lack changes')
})

it('refuses a log without records, and settings that it cannot read', async () => {
  const empty = await temporaryFolder()
  expect(await compare({}, [empty])).toMatchObject({
    status: 1,
    messages: expect.stringContaining('there is no audit log with records'),
  })
  expect(await runCommand(['audit', 'compare'])).toMatchObject({ status: 2 })
})

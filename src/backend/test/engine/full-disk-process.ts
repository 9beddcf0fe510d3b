// Usage: `full-disk-process.ts DISK`, with a small disk mounted at DISK. Fills it under a running catalog, frees space
// again, and prints the responses of the catalog as JSON.
import { randomFillSync } from 'node:crypto'
import { open, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { startBackend } from '../../server.ts'
import { backendSettingsSchema } from '../../settings/backend-settings.ts'
import { openCommitter } from '../../../../test/conformance/staged-versions.ts'
import { openTableFiles } from '../../../../test/conformance/table-files.ts'
import { orders, streamOf } from './sample-tables.ts'

const [disk = ''] = process.argv.slice(2)
const settings = backendSettingsSchema.parse({
  listen: { port: 0 },
  log: { level: 'silent' },
  data: { folder: join(disk, 'data') },
})
let backend = await startBackend(settings)
const filler = join(disk, 'filler')

interface Response {
  readonly status: number
  readonly json: { readonly location?: string; readonly error?: string }
}

async function post(target: string, body: unknown = {}): Promise<Response> {
  const response = await fetch(backend.url + target, {
    method: 'POST',
    body: body instanceof Uint8Array ? Buffer.from(body) : JSON.stringify(body),
  })
  return { status: response.status, json: (await response.json().catch(() => ({}))) as Response['json'] }
}

/** Uses the remaining space to the last byte. */
async function fillDisk(): Promise<void> {
  const file = await open(filler, 'a')
  for (let size = 1 << 20; size >= 1;) {
    const { bytesWritten } = await file
      .write(randomFillSync(Buffer.alloc(size)))
      .catch(() => ({ bytesWritten: 0 }))
    if (bytesWritten < size) size = size >> 1
  }
  await file.close()
}

const rows = streamOf(orders(20_000))
await post('/v1/table/there/create', streamOf(orders(3)))
await post('/v1/table/committed/create', streamOf(orders(3)))
const { json: committed } = await post('/v1/table/committed/describe')
// Its files are in storage, only the commit is missing.
const files = await openTableFiles(committed.location ?? '', undefined)
const staged = await (await openCommitter(files, join(disk, '..'))).stage()

const changes: [name: string, target: string, body: unknown][] = [
  ['upload', '/v1/table/there/insert', rows],
  ['merge', '/v1/table/there/merge_insert?on=id&when_not_matched_insert_all=true', rows],
  ['update', '/v1/table/there/update', { updates: [['id', 'id + 1']] }],
  ['new table', '/v1/table/new/create', rows],
  ['index', '/v1/table/there/create_scalar_index', { column: 'id', index_type: 'BTREE' }],
  ['namespace', '/v1/namespace/room/create', { properties: { text: 'x'.repeat(100_000) } }],
  ['commit', '/v1/table/committed/version/create', staged],
]

async function attemptAll() {
  const responses: Record<string, unknown> = {}
  for (const [name, target, body] of changes) {
    const { status, json } = await post(target, body)
    responses[name] = status === 200 ? status : `${status} ${json.error}`
  }
  return responses
}

/** Reads the visible state of the catalog and its data. */
async function poll() {
  const read = async (target: string) => (await fetch(backend.url + target)).json()
  const folders = (await readdir(join(settings.data?.folder ?? '', 'tables'))).filter((name) =>
    name.endsWith('.lance'),
  )
  const query = await fetch(`${backend.url}/v1/table/there/query`, {
    method: 'POST',
    body: '{"vector":[],"k":10}',
  })
  return {
    ...((await read('/v1/table')) as object),
    ...((await read('/v1/namespace/$/list')) as object),
    rows: [await read('/v1/table/there/count_rows'), await read('/v1/table/committed/count_rows')],
    folders: folders.length,
    isReadable: query.status === 200 && (await query.arrayBuffer()).byteLength > 0,
  }
}

await fillDisk()
const full = await attemptAll()
const meanwhile = await poll()
await rm(filler)
const room = await attemptAll()
const afterwards = await poll()
await backend.close()
backend = await startBackend(settings)
const restarted = await poll()
await backend.close()
process.stdout.write(JSON.stringify({ full, meanwhile, room, afterwards, restarted }))

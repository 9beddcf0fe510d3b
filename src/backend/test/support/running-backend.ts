import { pino } from 'pino'
import type { Table } from 'apache-arrow'
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest'
import { z } from 'zod'
import type { CatalogDatabase } from '../../database/schema.ts'
import { orders, streamOf } from '../engine/sample-tables.ts'
import { startBackend } from '../../server.ts'
import { openDatabase } from '../../database/open-database.ts'
import { errorCodes, type ErrorName } from '../../../catalog-api/catalog-error.ts'
import { operationSchemas } from '../../schemas/operation-schemas.ts'
import { parseTarget } from '../../../catalog-api/request-target.ts'
import { backendSettings } from './backend-settings.ts'
import {
  makeTemporaryFolder,
  removeFolder,
  temporaryFolder,
} from '../../../../test/support/temporary-folder.ts'

/** `json` is undefined if the response is not JSON. */
export interface Response {
  readonly status: number
  readonly json: unknown
  readonly bytes: () => Uint8Array
  readonly headers: Headers
}

const errorBody = z.strictObject({
  error: z.string().min(1),
  code: z.int().min(0).max(23),
  detail: z.string().optional(),
  instance: z.string().min(1),
})

interface DescribedField {
  readonly name: string
  readonly type: { readonly type: string }
  readonly nullable: boolean
  readonly metadata?: Readonly<Record<string, string>>
}

/** Starts a bundled catalog for one test, by default in a new folder. */
export async function runningBackend(settings: object = {}, folder?: string) {
  const backend = await openBackend(settings, folder ?? (await temporaryFolder()))
  onTestFinished(backend.stop)
  return backend
}

/** Starts one with the table `t`. */
export async function backendWithTable(rows?: Table, settings?: object) {
  const backend = await runningBackend(settings)
  return { ...backend, location: await backend.createTable('t', rows) }
}

/** Shares one bundled catalog between all tests of a file, which leave it as they found it. */
export function useSharedBackend(): Pick<Awaited<ReturnType<typeof openBackend>>, 'get' | 'post'> {
  let backend: Awaited<ReturnType<typeof openBackend>> | undefined
  beforeAll(async () => {
    backend = await openBackend({}, await makeTemporaryFolder())
  })
  afterAll(async () => {
    await backend?.stop()
    await removeFolder(backend?.dataFolder ?? '')
  })
  const started = () => {
    if (backend === undefined) throw new Error('The catalog is there only while tests run.')
    return backend
  }
  return { get: (...request) => started().get(...request), post: (...request) => started().post(...request) }
}

async function openBackend(settings: object, dataFolder: string) {
  const allSettings = backendSettings(dataFolder, settings)
  const start = () => startBackend(allSettings)
  let backend: Awaited<ReturnType<typeof start>> | undefined = await start()
  const stop = async () => {
    await backend?.close()
    backend = undefined
  }
  const send = (method: string, target: string, body?: unknown, headers: Record<string, string> = {}) =>
    call(backend?.url ?? '', method, target, body, headers)
  /** A body that is neither bytes nor text is sent as JSON. */
  const post = (target: string, body?: unknown, headers?: Record<string, string>) =>
    send('POST', target, body, headers)
  const openStore = () => openDatabase(allSettings, pino({ level: 'silent' }))
  const restart = async () => {
    await stop()
    backend = await start()
  }
  return {
    dataFolder,
    url: () => backend?.url ?? '',
    send,
    post,
    /** Creates a table; returns its location. */
    createTable: async (id = 't', rows: Table = orders(3)) => {
      const { json } = await post(`/v1/table/${id}/create`, streamOf(rows))
      return (json as { location: string }).location
    },
    /** The columns of the table `t`. */
    readFields: async () => {
      const { json } = await post('/v1/table/t/describe', { load_detailed_metadata: true })
      return (json as { schema: { fields: readonly DescribedField[] } }).schema.fields
    },
    versionsOf: async (id: string, query = '') => {
      const { json } = await post(`/v1/table/${id}/version/list?${query}`)
      return (json as { versions: { version: number }[] }).versions.map(({ version }) => version)
    },
    get: (target: string, headers?: Record<string, string>) => send('GET', target, undefined, headers),
    stop,
    /** Opens the store of the catalog, which must be stopped. */
    openDatabase: openStore,
    restart,
    /** Restarts the catalog with a changed store, such as a crash leaves it. */
    changeDatabase: async (change: (database: CatalogDatabase) => Promise<unknown>) => {
      await stop()
      const { database, close } = await openStore()
      await change(database)
      await close()
      await restart()
    },
  }
}

/** Sends a request and checks the response against the interface: the format of errors, the schema of successes. */
export async function call(
  url: string,
  method: string,
  target: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Response> {
  const isRaw = body === undefined || typeof body === 'string' || body instanceof Uint8Array
  const response = await fetch(url + target, {
    method,
    headers,
    ...(body === undefined ? {} : { body: isRaw ? (body as string) : JSON.stringify(body) }),
  })
  const bytes = new Uint8Array(await response.arrayBuffer())
  const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false
  const json: unknown = isJson ? JSON.parse(Buffer.from(bytes).toString()) : undefined
  if (response.status >= 400) {
    expect(errorBody.parse(json).instance).toBe(response.headers.get('x-request-id'))
  } else {
    const { name } = parseTarget(method, target).operation
    const schemas: Partial<Record<string, object>> = operationSchemas
    const schema = schemas[name]
    if (schema !== undefined && 'response' in schema) (schema.response as z.ZodType).parse(json)
  }
  return { status: response.status, json, bytes: () => bytes, headers: response.headers }
}

/** Matches a response with that error. */
export function errorOf(name: ErrorName, status: number = errorCodes[name].status) {
  return expect.objectContaining({
    status,
    json: expect.objectContaining({ code: errorCodes[name].code }),
  }) as Response
}

/** Matches a success with these members. */
export function responseOf(json: unknown, status = 200) {
  return expect.objectContaining({ status, json }) as Response
}

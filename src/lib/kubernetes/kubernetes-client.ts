import type { ClusterAccess } from './in-cluster.ts'
import { readSecret } from '../fs/read-secret.ts'
import { buildConnector, Pool, type Dispatcher } from 'undici'
import { toError } from '../errors/to-error.ts'
import { readPemFile } from '../tls/pem-file.ts'
import { createStatusError, KubernetesError } from './kubernetes-error.ts'
import { parseJson } from './kubernetes-object.ts'
import { readWatchEvents, type WatchEvent } from './watch-event.ts'
import { readBounded } from '../http/read-bounded.ts'

type Query = Readonly<Record<string, string | number | boolean>>

/** Requests to a Kubernetes API server. All methods reject with KubernetesError. Paths start with `/api` or `/apis`. */
export interface KubernetesClient {
  get(path: string, query?: Query, signal?: AbortSignal): Promise<unknown>
  /** Server-side apply; `manager` owns what the body has from then on. Rejects with 409 if the object has another uid. */
  apply(path: string, body: unknown, manager: string, signal?: AbortSignal): Promise<unknown>
  /**
   * Resolves when the watch is established; the events end when the server ends it. They never time out: the caller
   * has to abort a silent watch.
   */
  watch(path: string, query: Query, signal: AbortSignal): Promise<AsyncIterable<WatchEvent>>
  /** Requests in progress reject. */
  close(): Promise<void>
}

const connectTimeoutMs = 10_000
const headersTimeoutMs = 30_000
const bodyTimeoutMs = 15_000
const maxResponseBytes = 16 * 1024 * 1024
const maxErrorBytes = 65_536

interface ApiRequest extends Pick<Dispatcher.RequestOptions, 'query' | 'bodyTimeout'> {
  readonly path: string
  /** The object of a server-side apply. */
  readonly applied?: unknown
  readonly signal: AbortSignal | undefined
}

/** Sends nothing and reads no file before the first request. */
export function createKubernetesClient(options: ClusterAccess): KubernetesClient {
  const { origin, pathname } = new URL(options.apiServer)
  const prefix = pathname.replace(/\/$/, '')
  const pool = new Pool(origin, {
    pipelining: 1,
    connect: createConnector(options.caFile),
    headersTimeout: headersTimeoutMs,
    bodyTimeout: bodyTimeoutMs,
  })

  /** Resolves with the body of a 2xx response. */
  async function open({ path, applied, signal, ...request }: ApiRequest): Promise<AsyncIterable<Buffer>> {
    const token = await readToken(options.tokenFile)
    const { statusCode, body } = await pool
      .request({
        ...request,
        method: applied === undefined ? 'GET' : 'PATCH',
        path: prefix + path,
        ...(applied !== undefined && { body: JSON.stringify(applied) }),
        headers: {
          accept: 'application/json',
          authorization: `Bearer ${token}`,
          ...(applied !== undefined && { 'content-type': 'application/apply-patch+yaml' }),
        },
        signal: signal ?? null,
      })
      .catch(throwUnreachable)
    if (statusCode >= 200 && statusCode <= 299) return withTransportErrors(body)
    // A proxy may send another body than a `Status`.
    const status = await readText(body, maxErrorBytes)
      .then(parseJson)
      .catch(() => undefined)
    throw createStatusError(status, statusCode)
  }

  async function exchange(request: ApiRequest): Promise<unknown> {
    return parseJson(await readText(await open(request), maxResponseBytes))
  }

  return {
    get: (path, query, signal) => exchange({ path, ...(query && { query }), signal }),
    apply: (path, applied, fieldManager, signal) =>
      exchange({ path, query: { fieldManager, force: true }, applied, signal }),
    watch: async (path, query, signal) =>
      readWatchEvents(await open({ path, query: { ...query, watch: true }, bodyTimeout: 0, signal })),
    close: () => pool.destroy(),
  }
}

function createConnector(caFile: string): buildConnector.connector {
  const timeout = connectTimeoutMs
  const connectWithoutTls = buildConnector({ timeout })
  const connectWithTls = async (
    target: buildConnector.Options,
    callback: buildConnector.Callback,
  ): Promise<void> => {
    try {
      const ca = await readPemFile(caFile, 'CERTIFICATE')
      buildConnector({ ca, rejectUnauthorized: true, timeout })(target, callback)
    } catch (cause) {
      callback(new Error('the CA certificate of the API server cannot be used', { cause }), null)
    }
  }
  return (target, callback) => {
    if (target.protocol === 'https:') void connectWithTls(target, callback)
    else connectWithoutTls(target, callback)
  }
}

async function readToken(file: string): Promise<string> {
  return readSecret(file).catch((cause: unknown) => {
    throw new KubernetesError('Unreachable', 'the token for the API server cannot be read', { cause })
  })
}

/** Rejects if the text has more than `maxBytes`. */
async function readText(body: AsyncIterable<Buffer>, maxBytes: number): Promise<string> {
  const bytes = await readBounded(body, maxBytes)
  if (bytes !== undefined) return bytes.toString()
  throw new KubernetesError('TooLarge', `the response of the API server is larger than ${maxBytes} bytes`)
}

async function* withTransportErrors(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  try {
    yield* body
  } catch (error) {
    throwUnreachable(error)
  }
}

function throwUnreachable(cause: unknown): never {
  throw new KubernetesError('Unreachable', `no response from the API server: ${toError(cause).message}`, {
    cause,
  })
}

import { z } from 'zod'
import { buildConnector, Pool, type Dispatcher } from 'undici'
import { getMembers, parseJsonBytes, readBounded, readPemFile, readSecret, toError } from '../lib/index.ts'

/** How a process reaches the API server of its cluster. */
export interface ClusterAccess {
  /** URL; its path becomes a prefix. */
  readonly apiServer: string
  /** PEM file of the CA certificate, read again for each connection; unused for `http:`. */
  readonly caFile: string
  /** File of the bearer token, which Kubernetes rotates; read again for each request. */
  readonly tokenFile: string
}

const serviceAccountFolder = '/var/run/secrets/kubernetes.io/serviceaccount'

/** The access of every pod with a service account. */
export const inCluster: ClusterAccess = {
  apiServer: 'https://kubernetes.default.svc',
  caFile: `${serviceAccountFolder}/ca.crt`,
  tokenFile: `${serviceAccountFolder}/token`,
}

const maxMessageLength = 500

/** A request to the API server failed. The message is for operators: it may name objects of the cluster. */
export class KubernetesError extends Error {
  override readonly name = 'KubernetesError'
  /** Of the response, or 413 if it is beyond the limits of the client; undefined without a usable response. */
  readonly status: number | undefined

  constructor(
    message: string,
    { status, cause }: { readonly status?: number; readonly cause?: unknown } = {},
  ) {
    super(message, { cause })
    this.status = status
  }
}

/** For `catch`: returns a KubernetesError as it is, and wraps any other error. */
export function toKubernetesError(error: unknown): KubernetesError {
  if (error instanceof KubernetesError) return error
  return new KubernetesError(`the response of the API server cannot be used: ${String(error)}`, {
    cause: error,
  })
}

/** Creates the error for a response with this status, whose content may be a `Status` object. */
function createStatusError(content: unknown, status: number): KubernetesError {
  const { message } = getMembers(content)
  const text = typeof message === 'string' ? message.slice(0, maxMessageLength) : ''
  const detail = text === '' ? '' : `: ${text.replaceAll(/\p{Cc}+/gu, ' ')}`
  return new KubernetesError(`the API server returned status ${status}${detail}`, { status })
}

const text = z.string().min(1)

const kubernetesObjectSchema = z.looseObject({
  apiVersion: text,
  kind: text,
  metadata: z.looseObject({
    name: text,
    namespace: text,
    uid: text,
    generation: z.int().nonnegative(),
    resourceVersion: text,
    /** Set while finalizers delay the deletion. */
    deletionTimestamp: text.exactOptional(),
  }),
})

/** A namespaced custom resource as the API server returns it. */
export type KubernetesObject = Readonly<z.output<typeof kubernetesObjectSchema>>

/** Throws KubernetesError unless the value has the metadata of a stored, namespaced object. */
export function parseKubernetesObject(value: unknown): KubernetesObject {
  const parsed = kubernetesObjectSchema.safeParse(value)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw new KubernetesError(
    `the API server sent an object that is malformed at "${issue?.path.join('.')}": ${issue?.message}`,
  )
}

type Query = Readonly<Record<string, string | number | boolean>>

const connectTimeoutMs = 10_000
const headersTimeoutMs = 30_000
const bodyTimeoutMs = 15_000
/** The API server ends a watch after this long. It sends nothing before, unless something has changed. */
const watchSeconds = 60
/** Of objects, and of the keys of its tokens, which it sends as nothing else. */
const contentTypes = 'application/json, application/jwk-set+json'
const maxResponseBytes = 16 * 1024 * 1024
const maxErrorBytes = 65_536

interface ApiRequest extends Pick<Dispatcher.RequestOptions, 'bodyTimeout'> {
  readonly path: string
  readonly query?: Query | undefined
  /** The object of a server-side apply. */
  readonly applied?: unknown
  readonly signal: AbortSignal | undefined
}

/** Requests to a Kubernetes API server. All methods reject with KubernetesError. Paths start with a slash. */
export type KubernetesClient = ReturnType<typeof createKubernetesClient>

/** Sends nothing and reads no file before the first request. */
export function createKubernetesClient(options: ClusterAccess) {
  const { origin, pathname } = new URL(options.apiServer)
  const prefix = pathname.replace(/\/$/, '')
  const pool = new Pool(origin, {
    pipelining: 1,
    connect: createConnector(options.caFile),
    headersTimeout: headersTimeoutMs,
    bodyTimeout: bodyTimeoutMs,
  })

  /** Resolves with the result of `read` for the body of a 2xx response. */
  async function send<Result>(
    { path, query, applied, signal, ...request }: ApiRequest,
    read: (body: AsyncIterable<Buffer>) => Promise<Result>,
  ): Promise<Result> {
    const token = await readSecret(options.tokenFile).catch((cause: unknown) => {
      throw new KubernetesError('the token for the API server cannot be read', { cause })
    })
    try {
      const { statusCode, body } = await pool.request({
        ...request,
        ...(query && { query }),
        method: applied === undefined ? 'GET' : 'PATCH',
        path: prefix + path,
        ...(applied !== undefined && { body: JSON.stringify(applied) }),
        headers: {
          accept: contentTypes,
          authorization: `Bearer ${token}`,
          ...(applied !== undefined && { 'content-type': 'application/apply-patch+yaml' }),
        },
        signal: signal ?? null,
      })
      if (statusCode >= 200 && statusCode <= 299) return await read(body)
      // A proxy may send another body than a `Status`.
      throw createStatusError(await readJson(body, maxErrorBytes).catch(() => undefined), statusCode)
    } catch (cause) {
      if (cause instanceof KubernetesError) throw cause
      throw new KubernetesError(`no response from the API server: ${toError(cause).message}`, { cause })
    }
  }

  return {
    get: (path: string, query?: Query, signal?: AbortSignal) => send({ path, query, signal }, readJson),
    /** Server-side apply; `manager` owns what the body has from then on. Rejects with 409 if the object has another uid. */
    apply: (path: string, applied: unknown, fieldManager: string, signal?: AbortSignal) =>
      send({ path, query: { fieldManager, force: true }, applied, signal }, readJson),
    /**
     * Watches a collection, and resolves at its first change after that version, or after a minute. Calls `onAccepted`
     * when the API server has accepted the watch.
     */
    awaitChange: (path: string, resourceVersion: string, onAccepted: () => void, signal: AbortSignal) => {
      const query = { watch: true, resourceVersion, timeoutSeconds: watchSeconds }
      // A silent connection is lost.
      const bodyTimeout = watchSeconds * 1000 + bodyTimeoutMs
      return send({ path, query, bodyTimeout, signal }, async (body) => {
        onAccepted()
        const events = body[Symbol.asyncIterator]()
        await events.next()
        // Closes the connection.
        await events.return?.()
      })
    },
    /** Requests in progress reject. */
    close: (): Promise<void> => pool.destroy(),
  }
}

function createConnector(caFile: string): buildConnector.connector {
  async function connect(target: buildConnector.Options, callback: buildConnector.Callback): Promise<void> {
    const isSecure = target.protocol === 'https:'
    try {
      const trust = isSecure && { ca: await readPemFile(caFile, 'CERTIFICATE'), rejectUnauthorized: true }
      buildConnector({ ...trust, timeout: connectTimeoutMs })(target, callback)
    } catch (cause) {
      callback(new Error('the CA certificate of the API server cannot be used', { cause }), null)
    }
  }
  return (target, callback) => void connect(target, callback)
}

async function readJson(body: AsyncIterable<Buffer>, maxBytes = maxResponseBytes): Promise<unknown> {
  const bytes = await readBounded(body, maxBytes)
  if (bytes === undefined)
    throw new KubernetesError(`the response of the API server is larger than ${maxBytes} bytes`, {
      status: 413,
    })
  const value = parseJsonBytes(bytes)
  if (value === undefined) throw new KubernetesError('the API server sent invalid JSON')
  return value
}

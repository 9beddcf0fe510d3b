import { z } from 'zod'
import { buildConnector, Pool, type Dispatcher } from 'undici'
import { getMembers, readBounded, readPemFile, readSecret, toError } from '../lib/index.ts'

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

/** What every pod with a service account has. */
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
  const detail = typeof message === 'string' ? `: ${removeControls(message.slice(0, maxMessageLength))}` : ''
  return new KubernetesError(`the API server returned status ${status}${detail}`, { status })
}

function removeControls(text: string): string {
  return text.replaceAll(/\p{Cc}+/gu, ' ')
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
    labels: z.record(z.string(), z.string()).exactOptional(),
    annotations: z.record(z.string(), z.string()).exactOptional(),
  }),
})

/** A namespaced custom resource as the API server returns it. */
export type KubernetesObject = DeepReadonly<z.output<typeof kubernetesObjectSchema>>

type DeepReadonly<Value> = Value extends object
  ? { readonly [Key in keyof Value]: DeepReadonly<Value[Key]> }
  : Value

/** Throws KubernetesError unless the value has the metadata of a stored, namespaced object. */
export function parseKubernetesObject(value: unknown): KubernetesObject {
  const parsed = kubernetesObjectSchema.safeParse(value)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw new KubernetesError(
    `the API server sent an object that is malformed at "${issue?.path.join('.')}": ${issue?.message}`,
  )
}

/** Throws KubernetesError. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new KubernetesError('the API server sent invalid JSON', { cause })
  }
}

type Query = Readonly<Record<string, string | number | boolean>>

/** Requests to a Kubernetes API server. All methods reject with KubernetesError. Paths start with a slash. */
export interface KubernetesClient {
  get(path: string, query?: Query, signal?: AbortSignal): Promise<unknown>
  /** Server-side apply; `manager` owns what the body has from then on. Rejects with 409 if the object has another uid. */
  apply(path: string, body: unknown, manager: string, signal?: AbortSignal): Promise<unknown>
  /**
   * Watches a collection, and resolves at its first change after that version, or after a minute. Calls `onAccepted` when
   * the API server has accepted the watch.
   */
  awaitChange(
    path: string,
    resourceVersion: string,
    onAccepted: () => void,
    signal: AbortSignal,
  ): Promise<void>
  /** Requests in progress reject. */
  close(): Promise<void>
}

const connectTimeoutMs = 10_000
const headersTimeoutMs = 30_000
const bodyTimeoutMs = 15_000
/** The API server ends a watch after this long. It sends nothing before, unless something has changed. */
const watchSeconds = 60
/** Of objects, and of the keys of its tokens, which it sends as nothing else. */
const contentTypes = 'application/json, application/jwk-set+json'
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
  async function open({
    path,
    applied,
    signal,
    ...request
  }: ApiRequest): Promise<AsyncGenerator<Buffer, void>> {
    const token = await readToken(options.tokenFile)
    const { statusCode, body } = await pool
      .request({
        ...request,
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
    async awaitChange(path, resourceVersion, onAccepted, signal) {
      const query = { watch: true, resourceVersion, timeoutSeconds: watchSeconds }
      // A silent connection is lost.
      const bodyTimeout = watchSeconds * 1000 + bodyTimeoutMs
      const events = await open({ path, query, bodyTimeout, signal })
      onAccepted()
      await events.next()
      // Closes the connection.
      await events.return()
    },
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
    throw new KubernetesError('the token for the API server cannot be read', { cause })
  })
}

/** Rejects if the text has more than `maxBytes`. */
async function readText(body: AsyncIterable<Buffer>, maxBytes: number): Promise<string> {
  const bytes = await readBounded(body, maxBytes)
  if (bytes !== undefined) return bytes.toString()
  throw new KubernetesError(`the response of the API server is larger than ${maxBytes} bytes`, {
    status: 413,
  })
}

async function* withTransportErrors(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  try {
    yield* body
  } catch (error) {
    throwUnreachable(error)
  }
}

function throwUnreachable(cause: unknown): never {
  throw new KubernetesError(`no response from the API server: ${toError(cause).message}`, {
    cause,
  })
}

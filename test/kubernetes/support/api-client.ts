import { readFileSync } from 'node:fs'
import { Agent, request } from 'undici'

/** Any object of Kubernetes. */
export interface KubernetesObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly [field: string]: unknown
  }
  readonly [field: string]: unknown
}

/** The response of an API server that is no success. */
export class ApiError extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

export interface ApiClient {
  /** Takes a path such as `/api/v1/namespaces`. Rejects with an `ApiError`. */
  get<Value = KubernetesObject>(path: string): Promise<Value>
  text(path: string): Promise<string>
  post<Value = KubernetesObject>(path: string, body: object): Promise<Value>
  put(path: string, body: object): Promise<void>
  /** Applies a merge patch. */
  patch<Value = KubernetesObject>(path: string, body: object): Promise<Value>
  delete(path: string, body?: object): Promise<void>
  /** Creates an object, or takes over its fields; namespaced objects without a namespace go to `namespace`. */
  apply(object: KubernetesObject, namespace?: string): Promise<KubernetesObject>
  close(): Promise<void>
}

interface Credentials {
  readonly url: string
  readonly caFile: string
  readonly token: string
}

const requestMs = 30_000

/** Creates a client of an API server. */
export function createApiClient({ url, caFile, token }: Credentials): ApiClient {
  const agent = new Agent({ connect: { ca: readFileSync(caFile) } })
  const send = async (
    method: 'DELETE' | 'GET' | 'PATCH' | 'POST' | 'PUT',
    path: string,
    body?: object,
    type?: string,
  ) => {
    const { statusCode, body: response } = await request(`${url}${path}`, {
      method,
      dispatcher: agent,
      headers: { authorization: `Bearer ${token}`, 'content-type': type ?? 'application/json' },
      signal: AbortSignal.timeout(requestMs),
      ...(body && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    if (statusCode >= 300) throw new ApiError(statusCode, `${method} ${path}: ${statusCode}: ${text}`)
    return text
  }
  const kinds = new Map<string, Promise<ApiResource>>()
  const find = (apiVersion: string, kind: string): Promise<ApiResource> => {
    const group = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
    return parse<{ readonly resources: readonly ApiResource[] }>(send('GET', group)).then(({ resources }) => {
      const found = resources.find((resource) => resource.kind === kind && !resource.name.includes('/'))
      if (found === undefined) throw new Error(`the API server has no ${kind} of ${apiVersion}`)
      return { ...found, group }
    })
  }
  return {
    get: (path) => parse(send('GET', path)),
    text: (path) => send('GET', path),
    post: (path, body) => parse(send('POST', path, body)),
    patch: (path, body) => parse(send('PATCH', path, body, 'application/merge-patch+json')),
    put: async (path, body) => void (await send('PUT', path, body)),
    async delete(path, body) {
      await send('DELETE', path, body)
    },
    async apply(object, namespace = 'default') {
      const { apiVersion, kind, metadata } = object
      const key = `${apiVersion} ${kind}`
      const resource = await (kinds.get(key) ?? find(apiVersion, kind))
      kinds.set(key, Promise.resolve(resource))
      const scope = resource.namespaced ? `/namespaces/${metadata.namespace ?? namespace}` : ''
      const path = `${resource.group}${scope}/${resource.name}/${metadata.name}?fieldManager=test&force=true`
      return parse(send('PATCH', path, object, 'application/apply-patch+yaml'))
    },
    close: () => agent.close(),
  }
}

async function parse<Value>(text: Promise<string>): Promise<Value> {
  return JSON.parse(await text) as Value
}

interface ApiResource {
  readonly name: string
  readonly kind: string
  readonly namespaced: boolean
  readonly group: string
}

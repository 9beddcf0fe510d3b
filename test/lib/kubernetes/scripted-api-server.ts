import { writeFile } from 'node:fs/promises'
import { createServer, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'
import { createKubernetesClient, type KubernetesClient } from '../../../src/kubernetes/kubernetes-client.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { listenLocally } from '../../support/local-server.ts'

export interface ReceivedRequest {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly authorization: string | undefined
  readonly body: unknown
}

export type Script = (request: ReceivedRequest, response: ServerResponse) => unknown

export interface ScriptedApiServer {
  readonly url: string
  readonly client: KubernetesClient
  readonly tokenFile: string
  readonly requests: readonly ReceivedRequest[]
}

/**
 * Starts a server that responds as a test says, for the failures of an API server that a real one does not produce on
 * demand. It and its client are closed at the end of the test.
 */
export async function startScriptedApiServer(script: Script): Promise<ScriptedApiServer> {
  const requests: ReceivedRequest[] = []
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const { method = '', headers } = request
      const { pathname, searchParams } = new URL(request.url ?? '', 'http://api-server')
      const { authorization } = headers
      const received = { method, path: pathname, query: searchParams, authorization, body: parseBody(body) }
      requests.push(received)
      script(received, response)
    })
  })
  const port = await listenLocally(server)
  const tokenFile = join(await temporaryFolder(), 'token')
  await writeFile(tokenFile, 'first-token\n')
  const url = `http://127.0.0.1:${port}`
  const client = createKubernetesClient({ apiServer: url, caFile: join(tokenFile, 'unused'), tokenFile })
  onTestFinished(() => client.close())
  return { url, client, tokenFile, requests }
}

/** Uses each script once, and the last one for all further requests. */
export function inOrder(...scripts: readonly Script[]): Script {
  let next = 0
  return (request, response) => {
    const script = scripts[Math.min(next, scripts.length - 1)]
    next += 1
    script?.(request, response)
  }
}

/** Separates the two kinds of requests of a watch. */
export function listsAndWatches(lists: Script, watches: Script): Script {
  return (request, response) => (request.query.has('watch') ? watches : lists)(request, response)
}

export function isWatch({ query }: ReceivedRequest): boolean {
  return query.has('watch')
}

export function sendJson(content: unknown, status = 200): Script {
  return (_, response) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(content))
}

export function sendStatus(code: number, message = 'as scripted'): Script {
  return sendJson({ kind: 'Status', apiVersion: 'v1', status: 'Failure', message, code }, code)
}

export function sendList(resourceVersion: string, ...items: readonly object[]): Script {
  return sendJson({ apiVersion: 'example.com/v1', kind: 'ThingList', metadata: { resourceVersion }, items })
}

/** Sends events and keeps the watch open. */
export function sendEvents(...lines: readonly string[]): Script {
  return (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders()
    if (lines.length > 0) response.write(lines.join(''))
  }
}

/** Sends events and ends the watch as an API server does after its timeout. */
export function sendEventsAndEnd(delayMs: number, ...lines: readonly string[]): Script {
  return (request, response) => {
    sendEvents(...lines)(request, response)
    setTimeout(() => response.end(), delayMs)
  }
}

/** Sends events and breaks the connection. */
export function sendEventsAndBreak(...lines: readonly string[]): Script {
  return (request, response) => {
    sendEvents(...lines)(request, response)
    setTimeout(() => response.destroy(), 20)
  }
}

export function createThing(name: string, resourceVersion: string, more: object = {}) {
  const metadata = { namespace: 'team-a', name, uid: `uid-of-${name}`, generation: 1, resourceVersion }
  return { apiVersion: 'example.com/v1', kind: 'Thing', metadata, ...more }
}

export function createEvent(type: string, object: object): string {
  return `${JSON.stringify({ type, object })}\n`
}

function parseBody(body: string): unknown {
  return body === '' ? undefined : JSON.parse(body)
}

// A minimal proxy with fastify and @fastify/http-proxy. Arguments: its port, the upstream port, the file of keys, the
// JWKS of the tokens, and for TLS the files of certificate and key.
import httpProxy from '@fastify/http-proxy'
import { createLocalJWKSet, jwtVerify, type JSONWebKeySet } from 'jose'
import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { IncomingHttpHeaders } from 'node:http'
import { destination } from 'pino'
import { audience, callerName, issuer } from '../callers.ts'
import { createApplication } from './create-application.ts'

const [port, upstreamPort, keyMapFile = '', keySetFile = '', certFile, keyFile] = process.argv.slice(2)
const keyLines = (await readFile(keyMapFile, 'utf8')).trim().split('\n')
const principals = new Map(keyLines.map((line) => [digestOf(line.split(' ')[0] ?? ''), line.split(' ')[1]]))
const keySet = createLocalJWKSet(JSON.parse(await readFile(keySetFile, 'utf8')) as JSONWebKeySet)
const verified = new Map<string, { readonly subject: string | undefined; readonly untilMs: number }>()
const rights = new Map([[callerName, ['/v1/table/bench$']]])

const options = {
  logger: { stream: destination({ dest: 1, sync: false }) },
  bodyLimit: Number.MAX_SAFE_INTEGER,
}
const server = await createApplication({ certFile, keyFile, options })
server.addHook('preHandler', async ({ headers, url }, reply) => {
  const principal = await principalOf(headers)
  const path = url.replace('%24', '$')
  const isAllowed =
    !/\.\.|%2e/i.test(path) &&
    (rights.get(principal ?? '')?.some((prefix) => path.startsWith(prefix)) ?? false)
  return isAllowed
    ? undefined
    : reply.code(principal === undefined ? 401 : 403).send({ error: 'not allowed' })
})
await server.register(httpProxy, {
  upstream: `http://127.0.0.1:${upstreamPort}`,
  undici: { connections: 128, pipelining: 1 },
  replyOptions: {
    rewriteRequestHeaders: (_request, { 'x-api-key': _key, authorization: _token, ...headers }) => headers,
  },
})
await server.listen({ port: Number(port), host: '127.0.0.1' })

async function principalOf({
  'x-api-key': key,
  authorization,
}: IncomingHttpHeaders): Promise<string | undefined> {
  if (typeof key === 'string') return principals.get(digestOf(key))
  const token = authorization?.startsWith('Bearer ') === true ? authorization.slice(7) : undefined
  if (token === undefined) return undefined
  const digest = digestOf(token)
  const known = verified.get(digest)
  if (known !== undefined && known.untilMs > Date.now()) return known.subject
  try {
    const { payload } = await jwtVerify(token, keySet, { issuer, audience, algorithms: ['RS256'] })
    verified.set(digest, { subject: payload.sub, untilMs: (payload.exp ?? 0) * 1000 })
    return payload.sub
  } catch {
    return undefined
  }
}

function digestOf(text: string): string {
  return hash('sha256', text, 'base64')
}

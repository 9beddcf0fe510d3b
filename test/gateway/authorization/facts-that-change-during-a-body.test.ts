import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { createKey, revokeKey } from '../../../src/identity/api-keys/key-store.ts'
import { introspectionSchema, tokenIssuersSchema } from '../../../src/config/token-issuer-settings.ts'
import { reloadFiles } from '../../../src/lib/fs/follow-files.ts'
import { clockSkewSeconds } from '../../../src/identity/jwt/claims.ts'
import { goodClaims, signToken, startIssuer, startServer } from '../../identity/jwt/token-issuer.ts'
import { formatPolicies, type WrittenPolicy, type WrittenRule } from '../../policy/policy-builder.ts'
import { arrowBytes } from '../../support/arrow-upload.ts'
import { clockAhead } from '../../support/clock-ahead.ts'
import { eventually } from '../../support/eventually.ts'
import { maxDecisionAgeMs } from '../../../src/gateway/bounds.ts'
import type { TestedGateway } from '../support/open-gateway.ts'
import { openRawConnection } from '../support/raw-connection.ts'
import { chunkOf } from '../support/raw-request.ts'
import { startGatewayAndUpstream } from '../support/running-gateway.ts'

// Every fact of a head that a decision depends on changes while the body is held, each with every way in which bodies are
// sent. Nothing of that request may reach the upstream complete.

const team = { groups: ['team', 'corp:team'] }
const allow: WrittenRule = { id: 'team', effect: 'allow', subjects: team, operations: ['all'] }

const policies = (rules: readonly WrittenRule[], more: Partial<WrittenPolicy> = {}): string =>
  formatPolicies([{ name: 'team', namespace: [], onDeny: 403, rules, ...more }])

const restricted = policies([allow], {
  namespace: ['lake'],
  restrict: [{ id: 'part', subjects: team, tables: ['orders'], columns: { id: 'number' } }],
})

interface Held {
  readonly gateway: TestedGateway
  readonly store: string
  readonly keyId: string
  readonly replacePolicies: (text: string) => Promise<void>
  readonly setClockAhead: (milliseconds: number) => void
  /** What the authorization server says of the token; undefined if it fails. */
  introspected: object | undefined
}

interface Fact {
  /** The credential; default an API key. */
  readonly credential?: 'token' | 'opaque'
  /** Before the head. */
  readonly prepare?: (held: Held) => Promise<void>
  /** While the body is held. */
  readonly change: (held: Held) => unknown
  /** Statuses of the responses: of a change, a read, and an upload; default the same for all. */
  readonly status: number | readonly number[]
}

/** Seconds from the head to the end of a token, or of a grant; less than the age at which a lock of the audit log is stale. */
const lifetime = 30
const soon = (): number => Math.ceil(Date.now() / 1000) + lifetime
const endLifetime = ({ setClockAhead }: Held) => setClockAhead((lifetime + 1) * 1000)
const edit = async (file: string, before: string, after: string): Promise<void> => {
  const text = await readFile(file, 'utf8')
  expect(text).toContain(before)
  await writeFile(file, text.replaceAll(before, after))
}

const facts: Readonly<Record<string, Fact>> = {
  'key revoked': { change: ({ store, keyId }) => revokeKey(store, keyId), status: 401 },
  'key removed from the store': { change: ({ store }) => writeFile(store, 'keys: []\n'), status: 401 },
  'groups of the key changed': { change: ({ store }) => edit(store, 'team', 'none'), status: 403 },
  'token expired': { credential: 'token', change: endLifetime, status: 401 },
  'introspection says inactive': {
    credential: 'opaque',
    change: (held) => {
      held.introspected = { active: false }
      endLifetime(held)
    },
    status: 401,
  },
  'introspection says other groups': {
    credential: 'opaque',
    change: (held) => {
      held.introspected = { ...held.introspected, exp: soon() + 60, groups: ['none'] }
      endLifetime(held)
    },
    status: 403,
  },
  'introspection says another name': {
    credential: 'opaque',
    change: (held) => {
      held.introspected = { ...held.introspected, exp: soon() + 60, sub: 'eve' }
      endLifetime(held)
    },
    // The upload has begun: whether it was done is unknown.
    status: [503, 503, 424],
  },
  'deny added': {
    change: ({ replacePolicies }) =>
      replacePolicies(policies([allow, { ...allow, id: 'stop', effect: 'deny', subjects: { any: true } }])),
    status: 403,
  },
  'allow removed': { change: ({ replacePolicies }) => replacePolicies(policies([])), status: 403 },
  'restriction added': {
    change: ({ replacePolicies }) => replacePolicies(restricted),
    // The read was not kept for a restriction: it is to be repeated.
    status: [403, 503, 403],
  },
  'until passed': {
    prepare: ({ replacePolicies }) =>
      replacePolicies(policies([{ ...allow, until: new Date(soon() * 1000).toISOString() }])),
    change: endLifetime,
    status: 403,
  },
  'now passed': {
    prepare: ({ replacePolicies }) =>
      replacePolicies(
        policies([{ ...allow, when: `now < timestamp("${new Date(soon() * 1000).toISOString()}")` }]),
      ),
    change: endLifetime,
    status: 403,
  },
}

const json = 'application/json'
const arrow = 'application/vnd.apache.arrow.stream'

/** Ways in which bodies are sent: the start of the body, and its end. */
const bodies = {
  'a change in memory': ['delete', json, '{"predicate":"id = 1', '"}'],
  'a read in memory': ['count_rows', json, '{"predicate":"id = 1', '"}'],
  'an upload that streams': ['insert', arrow, arrowBytes(70_000), 'end'],
} as const

async function startHolding({ credential, prepare }: Pick<Fact, 'credential' | 'prepare'> = {}) {
  const setClockAhead = clockAhead()
  let keyId = ''
  let key = ''
  let token = ''
  let store = ''
  const issuer = await startIssuer({ groupsClaim: 'groups' })
  onTestFinished(() => issuer.stop())
  const server = await startServer((_request, response) =>
    held.introspected === undefined
      ? response.writeHead(503).end()
      : response.setHeader('content-type', 'application/json').end(JSON.stringify(held.introspected)),
  )
  onTestFinished(() => server.stop())
  const { gateway, upstream } = await startGatewayAndUpstream({
    adjust: async (settings, folder) => {
      store = join(folder, 'keys.yaml')
      const pepper = await readFile(join(folder, 'pepper'))
      const created = await createKey(store, pepper, { principal: 'al', groups: ['team'] })
      keyId = created.key.id
      key = created.text
      await writeFile(join(folder, 'secret'), 'secret\n')
      const introspection = introspectionSchema.parse({
        name: 'corp',
        url: server.url,
        issuer: 'https://corp.example',
        audience: 'catalog',
        clientId: 'gateway',
        clientSecretFile: join(folder, 'secret'),
        groupsClaim: 'groups',
      })
      const identity =
        credential === 'opaque'
          ? { ...settings.identity, introspection }
          : { ...settings.identity, issuers: tokenIssuersSchema.parse([issuer.configuration]) }
      return { ...settings, identity }
    },
  })
  const replacePolicies = async (text: string): Promise<void> => {
    await gateway.replacePolicies(text)
    await reloadFiles()
  }
  const held: Held = {
    gateway,
    store,
    keyId,
    replacePolicies,
    setClockAhead,
    introspected: { active: false },
  }
  await replacePolicies(policies([allow]))
  await prepare?.(held)
  const claims = { exp: soon() - clockSkewSeconds, groups: ['team'] }
  held.introspected = { ...goodClaims(claims), active: true, token_type: 'Bearer' }
  if (credential === 'token') token = await signToken(issuer.key, claims)
  const header =
    credential === undefined ? `x-api-key: ${key}` : `authorization: Bearer ${token || 'opaque-token'}`
  return { held, upstream, header }
}

it.each(Object.entries(facts))('%s', { timeout: 60_000 }, async (_fact, fact) => {
  const { held, upstream, header } = await startHolding(fact)
  const requests = Object.values(bodies).map(([operation, type, start, end]) => {
    const client = openRawConnection(held.gateway.url)
    const head = [
      `POST /v1/table/lake$orders/${operation} HTTP/1.1`,
      'host: gateway',
      header,
      `content-type: ${type}`,
      `content-length: ${Buffer.byteLength(start) + Buffer.byteLength(end)}`,
      'expect: 100-continue',
    ]
    client.write(`${head.join('\r\n')}\r\n\r\n`)
    return { client, start, end }
  })
  // The heads are decided.
  for (const { client, start } of requests) {
    await client.waitFor(/^HTTP\/1.1 100/)
    client.write(start)
  }
  // The upload streams.
  await eventually(() => expect(upstream.requests).toHaveLength(1))
  await fact.change(held)
  await reloadFiles()
  await pause(maxDecisionAgeMs)

  for (const { client, end } of requests) client.write(end)
  const statuses = await Promise.all(
    requests.map(async ({ client }) => {
      const text = await client.waitFor(/\r\n\r\nHTTP\/1.1 \d{3}/)
      return Number(/\r\n\r\nHTTP\/1.1 (\d{3})/.exec(text)?.[1])
    }),
  )
  const [change, read = change, upload = change] = [fact.status].flat()
  expect(statuses).toEqual([change, read, upload])
  expect(upstream.requests).toHaveLength(1)
  await expect(upstream.requests[0]?.body).rejects.toThrow('aborted')
})

/** Begins an upload of one chunk after the other. The first one has reached the upstream. */
async function beginUpload(operation: 'create' | 'insert', fact: Pick<Fact, 'credential'> = {}) {
  const { held, upstream, header } = await startHolding(fact)
  const client = openRawConnection(held.gateway.url)
  const head = [header, `content-type: ${arrow}`, 'transfer-encoding: chunked', 'host: gateway']
  client.write(`POST /v1/table/lake$orders/${operation} HTTP/1.1\r\n${head.join('\r\n')}\r\n\r\n`)
  client.write(chunkOf(arrowBytes(70_000)))
  await eventually(() => expect(upstream.requests).toHaveLength(1))
  return { held, upstream, client }
}

it('an upload does not end if its response would be edited otherwise', async () => {
  const { held, upstream, client } = await beginUpload('create')
  const undescribed: WrittenRule = { ...allow, id: 'no', effect: 'deny', operations: ['DescribeTable'] }
  await held.replacePolicies(policies([allow, undescribed]))
  client.write('0\r\n\r\n')
  await client.waitFor(/^HTTP\/1.1 424/)
  await expect(upstream.requests[0]?.body).rejects.toThrow('aborted')
})

it('an upload that goes on is cut at an interval, without an end', async () => {
  const { held, upstream, client } = await beginUpload('insert')
  await revokeKey(held.store, held.keyId)
  await reloadFiles()
  await pause(maxDecisionAgeMs)
  client.write(chunkOf(Buffer.from('more')))
  await client.waitFor(/^HTTP\/1.1 401/)
  await expect(upstream.requests[0]?.body).rejects.toThrow('aborted')
})

it('an issuer that does not respond cuts no upload, if it responds before the end', async () => {
  const { held, upstream, client } = await beginUpload('insert', { credential: 'opaque' })
  const { introspected } = held
  held.introspected = undefined
  endLifetime(held)
  await pause(maxDecisionAgeMs)
  client.write(chunkOf(Buffer.from('more')))
  await pause(maxDecisionAgeMs)
  held.introspected = { ...introspected, exp: soon() + 60 }
  client.write('0\r\n\r\n')
  await client.waitFor(/^HTTP\/1.1 200/)
  expect(String(await upstream.requests[0]?.body)).toMatch(/more$/)
})

it('if nothing changes, bodies that take longer than a decision may be old are sent as they are', async () => {
  const { held, upstream, header } = await startHolding()
  for (const [operation, type, start, end] of Object.values(bodies)) {
    async function* body(): AsyncGenerator<string | Buffer> {
      yield start
      await pause(maxDecisionAgeMs + 100)
      yield end
    }
    const { status } = await held.gateway.post(`/v1/table/lake$orders/${operation}`, {
      as: header.slice('x-api-key: '.length),
      headers: { 'content-type': type },
      body: Readable.from(body()),
    })
    expect(status).toBe(200)
    const sent = await upstream.requests.at(-1)?.body
    expect(sent?.equals(Buffer.concat([Buffer.from(start), Buffer.from(end)]))).toBe(true)
  }
})

import { once } from 'node:events'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:https'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { stringify } from 'yaml'
import { createKey, revokeKey } from '../../src/identity/api-keys/key-store.ts'
import {
  distinct,
  drops,
  fails,
  linesOf,
  startReceiver,
  takes,
  type Receiver,
} from '../audit/sinks/http-receiver.ts'
import { makeSigningKey, signToken, type SigningKey } from '../identity/jwt/token-issuer.ts'
import {
  makeAuthority,
  type TestAuthority,
  type TestCertificate,
} from '../identity/mtls/test-certificates.ts'
import { freePort } from '../support/free-port.ts'
import { startProgram, type Program } from './built-program.ts'
import { openTlsFront } from './tls-front.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { eventually } from '../support/eventually.ts'

/** Longer than the program takes to notice a change of any file, unless the machine is very busy. */
const followMs = 2_500
const pepper = 'a-pepper-of-at-least-thirty-two-characters'

/** What callers send, and the authorities whose certificates they accept. */
interface Caller {
  readonly key: string
  readonly token: string
  readonly trusted: readonly string[]
}

/**
 * A gateway with TLS in front of a catalog with TLS and client certificates, and a receiver of its audit records that
 * refuses some of the batches. All programs are real, and everything that can be read from a file is.
 */
export interface RotatingInstallation {
  readonly url: string
  readonly auditFolder: string
  /** What is valid now. It stays valid for some seconds after it was replaced. */
  caller(): Caller
  /** Lines of records that the receiver has acknowledged, each once. */
  delivered(): readonly string[]
  /**
   * Replaces the content of every file without an interruption: the new one is accepted, then used, then the old one is
   * refused. Breaks the connections to the catalog meanwhile, and kills the catalog in every other round.
   */
  rotate(): Promise<void>
  /** Stops it as an operator does. Returns the log of the gateway. */
  stop(): Promise<string>
}

/** One generation of everything that is replaced together. */
interface Generation {
  readonly authority: TestAuthority
  readonly catalog: TestCertificate
  readonly gateway: TestCertificate
  readonly signing: SigningKey
  readonly accessToken: string
  readonly sinkCredential: string
  readonly caller: Caller
  readonly keyId: string
}

export async function startRotatingInstallation(): Promise<RotatingInstallation> {
  const folder = await temporaryFolder()
  const auditFolder = join(folder, 'audit')
  const store = join(folder, 'keys.yaml')
  for (const name of ['made', 'policies', 'audit', 'data']) await mkdir(join(folder, name))
  await writeFile(join(folder, 'pepper'), pepper)
  await writeFile(store, 'keys: []\n')
  const place = createPlacer(folder)

  async function createGeneration(number: number): Promise<Generation> {
    const authority = await makeAuthority(join(folder, 'made'), `authority-${number}`)
    const signing = await makeSigningKey(`key-${number}`, 'ES256')
    const { text, key } = await createKey(store, Buffer.from(pepper), { principal: 'dev', groups: [] })
    return {
      authority,
      catalog: await authority.issue(`catalog-${number}`, 'IP:127.0.0.1'),
      gateway: await authority.issue(`gateway-${number}`, 'IP:127.0.0.1'),
      signing,
      accessToken: `access-token-of-generation-${number}`,
      sinkCredential: `Bearer sink-${number}`,
      caller: { key: text, token: await signToken(signing), trusted: [authority.cert] },
      keyId: key.id,
    }
  }

  /** Has all of these accepted by those that check them. */
  async function accept(generations: readonly Generation[]): Promise<void> {
    const authorities = generations.map(({ authority }) => authority.cert).join('')
    const [token, additional] = generations.map(({ accessToken }) => accessToken)
    await place('access-token', token ?? '')
    if (additional === undefined) await rm(join(folder, 'additional-access-token'), { force: true })
    else await place('additional-access-token', additional)
    await place('upstream-ca.pem', authorities)
    await place('sink-ca.pem', authorities)
    await place('jwks.json', JSON.stringify({ keys: generations.map(({ signing }) => signing.publicKey) }))
    await place('policies/all.yaml', writePolicies(generations.length))
    accepted = generations
  }

  /** Has this one used by those that authenticate with it. */
  async function use({ gateway, accessToken, sinkCredential }: Generation): Promise<void> {
    for (const [name, text] of [
      ['gateway.pem', gateway.cert],
      ['gateway.key', gateway.key],
      ['credential', `Bearer ${accessToken}`],
      ['sink-credential', sinkCredential],
    ] as const) {
      await place(name, text)
    }
  }

  const catalogTls = ({ catalog }: Generation) => ({
    cert: catalog.cert,
    key: catalog.key,
    ca: accepted.map(({ authority }) => authority.cert),
  })
  const receiverTls = ({ catalog: { cert, key } }: Generation) => ({ cert, key })

  let accepted: readonly Generation[] = []
  let current = await createGeneration(0)
  let rounds = 0
  await accept([current])
  await use(current)

  const catalogPort = await freePort()
  await place('catalog.yaml', stringify(catalogSettings(catalogPort)))
  const startCatalog = (): Promise<Program> =>
    // The killed process may hold the port for a moment.
    eventually(async () => {
      const program = startProgram(['backend', '--config', join(folder, 'catalog.yaml')])
      await program.announced(/^listening on (\S+)$/m)
      return program
    })
  let catalog = await startCatalog()
  const catalogList = `http://127.0.0.1:${catalogPort}/v1/namespace/$/list`
  const front = await openTlsFront(catalogPort, catalogTls(current))
  const receiver = await startReceiver(receiverTls(current))
  refuseSome(receiver, () => accepted.map(({ sinkCredential }) => sinkCredential))

  await place('gateway.yaml', stringify(gatewaySettings(front.port, receiver.url)))
  const gateway = startProgram(['serve', '--config', join(folder, 'gateway.yaml')])
  const url = await gateway.announced(/^listening on (https:\S+)$/m)

  return {
    url,
    auditFolder,
    caller: () => ({ ...current.caller, trusted: accepted.map(({ authority }) => authority.cert) }),
    delivered: () => distinct(linesOf(receiver.taken)),
    async rotate() {
      rounds += 1
      const [old, next] = [current, await createGeneration(rounds)]
      await accept([old, next])
      front.use(catalogTls(old))
      await pause(followMs)
      const authorization = `Bearer ${next.accessToken}`
      await eventually(async () => (await fetch(catalogList, { headers: { authorization } })).ok)
      const { key, token } = next.caller
      const authorities = accepted.map(({ authority }) => authority.cert)
      for (const headers of [{ 'x-api-key': key }, { authorization: `Bearer ${token}` }])
        await eventually(async () => (await statusOf(url, authorities, headers)) !== 401)
      await use(next)
      front.use(catalogTls(next))
      receiver.useTls(receiverTls(next))
      front.cut()
      current = next
      await pause(followMs)
      await eventually(() => statusOf(url, [next.authority.cert], {}))
      await accept([next])
      const refused = { headers: { authorization: `Bearer ${old.accessToken}` } }
      await eventually(async () => (await fetch(catalogList, refused)).status === 401)
      await revokeKey(store, old.keyId)
      front.use(catalogTls(next))
      if (rounds % 2 === 0) {
        catalog.signal('SIGKILL')
        await catalog.ended
        catalog = await startCatalog()
      }
    },
    async stop() {
      gateway.signal('SIGTERM')
      const { status, messages } = await gateway.ended
      if (status !== 0) throw new Error(`the gateway ended with status ${status}: ${messages}`)
      catalog.signal('SIGTERM')
      await catalog.ended
      return messages
    },
  }
}

/** Rejects if the certificate of the gateway is of another authority. */
async function statusOf(
  url: string,
  authorities: readonly string[],
  headers: Readonly<Record<string, string>>,
): Promise<number> {
  const sent = request(`${url}/v1/namespace/$/list`, { ca: [...authorities], agent: false, headers })
  sent.end()
  const [response] = await once(sent, 'response')
  response.resume()
  return response.statusCode ?? 0
}

/** Writes files by replacing them, and every other time in place, in two steps. */
function createPlacer(folder: string): (name: string, text: string) => Promise<void> {
  let placed = 0
  return async (name, text) => {
    placed += 1
    const path = join(folder, name)
    if (placed % 2 === 0) {
      await writeFile(path, text.slice(0, text.length / 2))
      await pause(5)
      await writeFile(path, text)
    } else {
      await writeFile(`${path}.next`, text)
      await rename(`${path}.next`, path)
    }
  }
}

/** Some batches are refused for a moment, and some connections broken; others have to have a valid credential. */
function refuseSome(receiver: Receiver, valid: () => readonly string[]): void {
  let batches = 0
  receiver.receiving = (batch, response) => {
    batches += 1
    if (!valid().includes(batch.headers.authorization ?? '')) response.writeHead(401).end()
    else if (batches % 5 === 0) fails(batch, response)
    else if (batches % 7 === 0) drops(batch, response)
    else takes(batch, response)
  }
}

function writePolicies(revision: number): string {
  const subjects = { users: ['dev', 'corp:alice'] }
  const rules = [{ id: `all-${revision}`, effect: 'allow', subjects, operations: ['all'] }]
  const policy = { apiVersion: 'catalog-gateway/v1', kind: 'AccessPolicy', metadata: { name: 'all' } }
  return stringify({ ...policy, namespace: [], rules })
}

function catalogSettings(port: number) {
  return {
    listen: { port },
    data: { folder: 'data' },
    accessTokenFiles: ['access-token', 'additional-access-token'],
    log: { level: 'error' },
  }
}

function gatewaySettings(upstreamPort: number, receiverUrl: string) {
  const certificate = { certFile: 'gateway.pem', keyFile: 'gateway.key' }
  return {
    listen: { port: 0, tls: certificate },
    admin: { port: 0 },
    upstream: {
      url: `https://127.0.0.1:${upstreamPort}`,
      caFile: 'upstream-ca.pem',
      clientCertificate: certificate,
      credential: { file: 'credential' },
    },
    identity: {
      apiKeys: { store: 'keys.yaml', pepperFile: 'pepper' },
      issuers: [
        {
          name: 'corp',
          issuer: 'https://corp.example',
          audience: 'catalog',
          algorithms: ['ES256'],
          jwks: { file: 'jwks.json' },
        },
      ],
    },
    policies: { folder: 'policies' },
    audit: {
      folder: 'audit',
      sinks: [
        {
          name: 'receiver',
          type: 'otlp',
          url: receiverUrl,
          caFile: 'sink-ca.pem',
          credential: { file: 'sink-credential' },
        },
      ],
    },
    log: { level: 'warn' },
  }
}

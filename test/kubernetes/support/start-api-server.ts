import { generateKeyPairSync } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { stringify } from 'yaml'
import { freePort } from '../../support/free-port.ts'
import { createApiClient, type ApiClient } from './api-client.ts'
import { startDaemon, type Daemon } from './daemon.ts'
import { programFile } from './kubernetes-programs.ts'

/** A real API server with its etcd, on loopback, with RBAC. Nothing runs pods or controllers. */
export interface ApiServer {
  /** Such as `https://127.0.0.1:20000`. */
  readonly url: string
  /** A file with the credentials of an administrator. */
  readonly kubeconfig: string
  /** A file with the certificate authority of the API server. */
  readonly caFile: string
  /** The private key of tokens of service accounts. */
  readonly serviceAccountKeyFile: string
  /** A client of the administrator. */
  readonly client: ApiClient
  /** A temporary folder with its files, for the files of others as well. */
  readonly folder: string
  /** Ends the API server, but not its etcd. */
  stop(): Promise<void>
  /** Starts it again at the same URL with the same objects. */
  start(): Promise<void>
  /** Ends everything and removes the folder. */
  close(): Promise<void>
}

interface ApiServerOptions {
  /** Addresses of Services, as a CIDR. */
  readonly serviceAddresses?: string
}

const startupMs = 120_000
const adminToken = 'token-of-the-administrator'

/** Starts an API server; needs what `findObstacle` looks for, and the built programs. */
export async function startApiServer({
  serviceAddresses = '10.96.0.0/16',
}: ApiServerOptions = {}): Promise<ApiServer> {
  const folder = await mkdtemp(join(tmpdir(), 'kubernetes-'))
  const [port, etcdPort, peerPort] = [await freePort(), await freePort(), await freePort()]
  const url = `https://127.0.0.1:${port}`
  const files = await writeFiles(folder, url)
  const etcd = startEtcd(folder, etcdPort, peerPort)
  const words = [
    `--etcd-servers=http://127.0.0.1:${etcdPort}`,
    '--bind-address=127.0.0.1',
    '--advertise-address=127.0.0.1',
    // It writes endpoints of the Service `kubernetes`, which must not be on loopback.
    '--endpoint-reconciler-type=none',
    `--secure-port=${port}`,
    `--cert-dir=${join(folder, 'certificates')}`,
    `--service-account-key-file=${files.serviceAccountKeyFile}`,
    `--service-account-signing-key-file=${files.serviceAccountKeyFile}`,
    '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
    `--token-auth-file=${files.tokenFile}`,
    '--authorization-mode=Node,RBAC',
    `--service-cluster-ip-range=${serviceAddresses}`,
    // As in clusters: a node lets them run, and admission decides.
    '--allow-privileged=true',
  ]
  let server: Daemon | undefined
  let client: ApiClient | undefined
  const apiServer = {
    ...files,
    url,
    folder,
    async stop() {
      await server?.close()
    },
    async start() {
      server = startDaemon(programFile('kube-apiserver'), words, join(folder, 'kube-apiserver.log'))
      const connected = await connect(server, url, files.caFile)
      if (client === undefined) client = connected
      else await connected.close()
    },
    async close() {
      await client?.close()
      await server?.close()
      await etcd.close()
      await rm(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
  try {
    await apiServer.start()
    if (client === undefined) throw new Error('the API server has no client')
    return { ...apiServer, client }
  } catch (error) {
    await apiServer.close()
    throw error
  }
}

interface Files {
  readonly kubeconfig: string
  readonly caFile: string
  readonly serviceAccountKeyFile: string
  readonly tokenFile: string
}

async function writeFiles(folder: string, url: string): Promise<Files> {
  await mkdir(join(folder, 'certificates'))
  const serviceAccountKeyFile = join(folder, 'service-accounts.pem')
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  await writeFile(serviceAccountKeyFile, privateKey.export({ type: 'pkcs1', format: 'pem' }), { mode: 0o600 })
  const tokenFile = join(folder, 'tokens.csv')
  await writeFile(tokenFile, `${adminToken},administrator,administrator,"system:masters"\n`, { mode: 0o600 })
  // The API server creates its certificate and appends that of its authority.
  const caFile = join(folder, 'certificates', 'apiserver.crt')
  const kubeconfig = join(folder, 'kubeconfig')
  const named = { name: 'test' }
  await writeFile(
    kubeconfig,
    stringify({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'test',
      clusters: [{ ...named, cluster: { server: url, 'certificate-authority': caFile } }],
      contexts: [{ ...named, context: { cluster: 'test', user: 'test' } }],
      users: [{ ...named, user: { token: adminToken } }],
    }),
    { mode: 0o600 },
  )
  return { kubeconfig, caFile, serviceAccountKeyFile, tokenFile }
}

/** The data need not survive the tests. */
function startEtcd(folder: string, clientPort: number, peerPort: number): Daemon {
  const [clients, peers] = [`http://127.0.0.1:${clientPort}`, `http://127.0.0.1:${peerPort}`]
  const words = [
    `--data-dir=${join(folder, 'etcd')}`,
    `--listen-client-urls=${clients}`,
    `--advertise-client-urls=${clients}`,
    `--listen-peer-urls=${peers}`,
    `--initial-advertise-peer-urls=${peers}`,
    `--initial-cluster=default=${peers}`,
    '--unsafe-no-fsync=true',
  ]
  return startDaemon('etcd', words, join(folder, 'etcd.log'))
}

/** Resolves with a client when the API server is ready. */
async function connect(server: Daemon, url: string, caFile: string): Promise<ApiClient> {
  for (const end = Date.now() + startupMs; ;) {
    let client: ApiClient | undefined
    try {
      // The file may not be there yet, or be incomplete.
      client = createApiClient({ url, caFile, token: adminToken })
      await client.text('/readyz')
      return client
    } catch (error) {
      await client?.close()
      if (!server.isRunning() || Date.now() > end) {
        throw new Error(`the API server did not start: ${server.log()}`, { cause: error })
      }
      await setTimeout(100)
    }
  }
}

import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { TestProject } from 'vitest/node'
import { credentials } from './credentials.ts'
import { freePort } from '../../../../test/support/free-port.ts'

declare module 'vitest' {
  // Typed access to the values that vitest provides.
  interface ProvidedContext {
    s3Endpoint: string
  }
}

const run = promisify(execFile)
const startupMs = 120_000
const daemons: ChildProcess[] = []
let folder: string | undefined

/** Starts an object store for this run, with all its data in memory, and provides its URL to the tests. */
export async function setup(project: TestProject): Promise<void> {
  folder = await mkdtemp(join(tmpdir(), 'ceph-'))
  const cluster = randomUUID()
  const disk = randomUUID()
  const [monitorPort, gatewayPort] = [await freePort(), await freePort()]
  const settings = join(folder, 'ceph.conf')
  await writeFile(settings, settingsOf(folder, cluster, monitorPort, gatewayPort))
  await writeFile(join(folder, 'keyring'), '')
  for (const name of ['mon', 'osd', 'rgw']) await mkdir(join(folder, name))
  const map = join(folder, 'monmap')
  const address = `[v2:127.0.0.1:${monitorPort}/0]`
  await run('monmaptool', ['--create', '--fsid', cluster, '--addv', 'a', address, map])
  await run('ceph-mon', ['-c', settings, '--mkfs', '-i', 'a', '--monmap', map])
  start('ceph-mon', ['-c', settings, '-f', '-i', 'a'])
  await run('ceph', ['-c', settings, 'osd', 'new', disk], { timeout: startupMs })
  await run('ceph-osd', ['-c', settings, '-i', '0', '--mkfs', '--osd-uuid', disk])
  start('ceph-osd', ['-c', settings, '-f', '-i', '0'])
  start('radosgw', ['-c', settings, '-f', '-n', 'client.rgw'])
  const endpoint = `http://127.0.0.1:${gatewayPort}`
  await untilResponses(endpoint)
  const user = ['user', 'create', '--uid=tests', '--display-name=tests']
  const keys = [
    `--access-key=${credentials.AWS_ACCESS_KEY_ID}`,
    `--secret-key=${credentials.AWS_SECRET_ACCESS_KEY}`,
  ]
  await run('radosgw-admin', ['-c', settings, ...user, ...keys], { timeout: startupMs })
  project.provide('s3Endpoint', endpoint)
}

export async function teardown(): Promise<void> {
  for (const daemon of daemons.toReversed()) {
    if (daemon.exitCode !== null || daemon.signalCode !== null) continue
    daemon.kill('SIGKILL')
    await once(daemon, 'exit')
  }
  if (folder !== undefined) await rm(folder, { recursive: true, force: true })
}

/** One copy of everything, in memory, on one machine, without passwords between the components. */
function settingsOf(folder: string, cluster: string, monitorPort: number, gatewayPort: number): string {
  return Object.entries({
    fsid: cluster,
    mon_host: `v2:127.0.0.1:${monitorPort}/0`,
    public_network: '127.0.0.0/8',
    auth_cluster_required: 'none',
    auth_service_required: 'none',
    auth_client_required: 'none',
    ms_mon_client_mode: 'crc',
    ms_client_mode: 'crc',
    osd_objectstore: 'memstore',
    memstore_device_bytes: 2 ** 31,
    osd_pool_default_size: 1,
    osd_pool_default_min_size: 1,
    osd_pool_default_pg_num: 4,
    osd_pool_default_pgp_num: 4,
    osd_pool_default_pg_autoscale_mode: 'off',
    osd_crush_chooseleaf_type: 0,
    mon_allow_pool_size_one: true,
    mon_max_pg_per_osd: 1000,
    mon_data_avail_crit: 1,
    paxos_propose_interval: 0.02,
    paxos_min_wait: 0.01,
    mon_data: join(folder, 'mon'),
    osd_data: join(folder, 'osd'),
    rgw_data: join(folder, 'rgw'),
    run_dir: folder,
    crash_dir: folder,
    keyring: join(folder, 'keyring'),
    admin_socket: join(folder, '$name.$pid.asok'),
    log_file: join(folder, '$name.log'),
    log_to_stderr: false,
    debug_ms: 0,
    debug_osd: 0,
    debug_rgw: 0,
    debug_objecter: 0,
    debug_filestore: 0,
    rgw_override_bucket_index_max_shards: 1,
    rgw_dynamic_resharding: false,
    rgw_enable_usage_log: false,
    rgw_frontends: `beast endpoint=127.0.0.1:${gatewayPort}`,
  }).reduce((text, [key, value]) => `${text}${key} = ${value}\n`, '[global]\n')
}

function start(program: string, options: readonly string[]): void {
  daemons.push(spawn(program, options, { stdio: 'ignore' }))
}

async function untilResponses(endpoint: string): Promise<void> {
  for (const end = Date.now() + startupMs; ;) {
    try {
      await fetch(endpoint)
      return
    } catch (error) {
      if (Date.now() > end || daemons.some(({ exitCode }) => exitCode !== null)) {
        const log = await readFile(join(folder ?? '', 'client.rgw.log'), 'utf8').catch(() => '')
        throw new Error(`the object store did not start: ${log.slice(-2000)}`, { cause: error })
      }
      await setTimeout(50)
    }
  }
}

import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { audience, callerName, issuer } from '../callers.ts'
import type { CertificateFiles, Peer, PeerSetup } from '../peer.ts'
import { freePort } from '../../test/support/free-port.ts'
import { startServer, type ServerProcess } from '../server-process.ts'
import { findProgram } from './find-program.ts'

export const haproxy: Peer = {
  name: 'haproxy',
  what: 'HAProxy with a map of keys, `jwt_verify`, a map of who may do what, and a log line a request',
  credentials: ['key', 'token'],
  isJit: false,
  provide: async () => findProgram('haproxy', '-v', /HAProxy version (\S+)/),
  start,
}

async function start({
  folder,
  program,
  upstreamPort,
  callers,
  core,
  certificate,
}: PeerSetup): Promise<ServerProcess> {
  const port = await freePort()
  const rightsFile = join(folder, 'rights.map')
  await writeFile(rightsFile, `${callerName}:/v1/table/bench$ allow\n`)
  const file = join(folder, 'haproxy.cfg')
  await writeFile(
    file,
    `global
  nbthread 1
  maxconn 4096
  log stdout format raw local0
defaults
  mode http
  log global
  option httplog
  timeout connect 5s
  timeout client 60s
  timeout server 60s
frontend in
  bind 127.0.0.1:${port}${certificate === undefined ? '' : await tlsOptions(folder, certificate)}
  http-request set-var(txn.principal) req.hdr(x-api-key),map_str(${callers.keyMapFile}) if { req.hdr(x-api-key) -m found }
  acl has_token req.hdr(authorization) -m beg Bearer
  http-request set-var(txn.token) http_auth_bearer if has_token
  http-request deny deny_status 401 if has_token !{ var(txn.token),jwt_header_query('$.alg') -m str RS256 }
  http-request deny deny_status 401 if has_token !{ var(txn.token),jwt_payload_query('$.iss') -m str ${issuer} }
  http-request deny deny_status 401 if has_token !{ var(txn.token),jwt_payload_query('$.aud') -m str ${String(audience)} }
  http-request set-var(txn.algorithm) str(RS256) if has_token
  http-request set-var(txn.now) date() if has_token
  http-request deny deny_status 401 if has_token !{ var(txn.token),jwt_payload_query('$.exp','int'),sub(txn.now) -m int gt 0 }
  http-request deny deny_status 401 if has_token !{ var(txn.token),jwt_verify(txn.algorithm,"${callers.publicKeyFile}") -m int 1 }
  http-request set-var(txn.principal) var(txn.token),jwt_payload_query('$.sub') if has_token
  http-request deny deny_status 401 unless { var(txn.principal) -m found }
  http-request set-var(txn.path) path,url_dec
  http-request deny deny_status 400 if { var(txn.path) -m sub .. }
  http-request deny deny_status 403 unless { var(txn.principal),concat(:,txn.path),map_beg(${rightsFile}) -m found }
  http-request del-header x-api-key
  http-request del-header authorization
  default_backend upstream
backend upstream
  http-reuse always
  server upstream 127.0.0.1:${upstreamPort} maxconn 128
`,
  )
  return startServer({ name: 'haproxy', folder, command: [program.file, '-db', '-f', file], port, core })
}

/** HAProxy reads certificate and key from one file. */
async function tlsOptions(folder: string, { certFile, keyFile }: CertificateFiles): Promise<string> {
  const file = join(folder, 'certificate-and-key.pem')
  await writeFile(file, (await readFile(certFile, 'utf8')) + (await readFile(keyFile, 'utf8')))
  return ` ssl crt ${file}`
}

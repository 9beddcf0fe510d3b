import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { freePort } from '../../test/support/free-port.ts'
import { audience, callerName, issuer, type Callers } from '../callers.ts'
import { fetchEnvoy } from '../fetched-programs.ts'
import type { CertificateFiles, Peer } from '../peer.ts'
import { startServer } from '../server-process.ts'

const filters = 'type.googleapis.com/envoy.extensions.filters.http'
const allowedPath = '/v1/table/bench(\\$|%24)[^/]*/.*'
/** Set by the filter of API keys, which replaces what the client sent. */
const principalHeader = 'x-principal'

export const envoy: Peer = {
  name: 'envoy',
  what: 'Envoy with the filters api_key_auth, jwt_authn and rbac, paths normalized, and a log line a request',
  credentials: ['key', 'token'],
  isJit: false,
  provide: fetchEnvoy,
  async start({ folder, program, upstreamPort, callers, core, certificate }) {
    const port = await freePort()
    const file = join(folder, 'envoy.yaml')
    await writeFile(file, stringify(configuration(port, upstreamPort, callers, certificate)))
    const command = [
      program.file,
      '--concurrency',
      '1',
      '--use-dynamic-base-id',
      '-l',
      'warning',
      '-c',
      file,
    ] as const
    return startServer({ name: 'envoy', folder, command, port, core })
  },
}

function configuration(
  port: number,
  upstreamPort: number,
  callers: Callers,
  certificate: CertificateFiles | undefined,
): object {
  return {
    static_resources: {
      listeners: [
        {
          address: address(port),
          filter_chains: [
            {
              filters: [{ name: 'http', typed_config: connectionManager(callers) }],
              ...(certificate && { transport_socket: tlsSocket(certificate) }),
            },
          ],
        },
      ],
      clusters: [
        {
          name: 'upstream',
          type: 'STATIC',
          circuit_breakers: {
            thresholds: [{ max_connections: 128, max_pending_requests: 4096, max_requests: 4096 }],
          },
          load_assignment: {
            cluster_name: 'upstream',
            endpoints: [{ lb_endpoints: [{ endpoint: { address: address(upstreamPort) } }] }],
          },
        },
      ],
    },
  }
}

function tlsSocket({ certFile, keyFile }: CertificateFiles): object {
  return {
    name: 'tls',
    typed_config: {
      '@type': 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext',
      common_tls_context: {
        alpn_protocols: ['http/1.1'],
        tls_certificates: [{ certificate_chain: { filename: certFile }, private_key: { filename: keyFile } }],
      },
    },
  }
}

function connectionManager(callers: Callers): object {
  const withKey = allowing({ header: { name: principalHeader, string_match: { exact: callerName } } })
  const withToken = allowing({
    metadata: {
      filter: 'envoy.filters.http.jwt_authn',
      path: [{ key: 'claims' }, { key: 'sub' }],
      value: { string_match: { exact: callerName } },
    },
  })
  const disabled = { '@type': 'type.googleapis.com/envoy.config.route.v3.FilterConfig', disabled: true }
  const noTokens = { '@type': `${filters}.jwt_authn.v3.PerRouteConfig`, disabled: true }
  const route = { cluster: 'upstream', timeout: '0s' }
  return {
    '@type':
      'type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager',
    stat_prefix: 'http',
    normalize_path: true,
    merge_slashes: true,
    path_with_escaped_slashes_action: 'REJECT_REQUEST',
    access_log: [
      {
        name: 'stdout',
        typed_config: {
          '@type': 'type.googleapis.com/envoy.extensions.access_loggers.stream.v3.StdoutAccessLog',
        },
      },
    ],
    route_config: {
      virtual_hosts: [
        {
          name: 'all',
          domains: ['*'],
          request_headers_to_remove: [principalHeader, 'authorization'],
          routes: [
            {
              match: { prefix: '/', headers: [{ name: 'authorization', present_match: true }] },
              route,
              typed_per_filter_config: { keys: disabled, rights: perRoute(withToken) },
            },
            {
              match: { prefix: '/' },
              route,
              typed_per_filter_config: { tokens: noTokens, rights: perRoute(withKey) },
            },
          ],
        },
      ],
    },
    http_filters: [
      {
        name: 'keys',
        typed_config: {
          '@type': `${filters}.api_key_auth.v3.ApiKeyAuth`,
          credentials: [{ key: callers.apiKey, client: callerName }],
          key_sources: [{ header: 'x-api-key' }],
          forwarding: { header: principalHeader, hide_credentials: true },
        },
      },
      {
        name: 'tokens',
        typed_config: {
          '@type': `${filters}.jwt_authn.v3.JwtAuthentication`,
          providers: {
            corp: {
              issuer,
              audiences: [audience].flat(),
              local_jwks: { filename: callers.keySetFile },
              payload_in_metadata: 'claims',
            },
          },
          rules: [{ match: { prefix: '/' }, requires: { provider_name: 'corp' } }],
        },
      },
      { name: 'rights', typed_config: rights(withKey) },
      { name: 'router', typed_config: { '@type': `${filters}.router.v3.Router` } },
    ],
  }
}

function allowing(principal: object): object {
  const permission = { url_path: { path: { safe_regex: { regex: allowedPath } } } }
  return { policies: { callers: { permissions: [permission], principals: [principal] } } }
}

function rights(rules: object): object {
  return { '@type': `${filters}.rbac.v3.RBAC`, rules }
}

function perRoute(rules: object): object {
  return { '@type': `${filters}.rbac.v3.RBACPerRoute`, rbac: { rules } }
}

function address(port: number): object {
  return { socket_address: { address: '127.0.0.1', port_value: port } }
}

import { once } from 'node:events'
import { request } from 'node:http'
import { expect, it } from 'vitest'
import type { ListenSettings } from '../../src/config/listen-settings.ts'
import { ofKind, recordsOf } from '../audit/audit-fixtures.ts'
import { startGatewayAndUpstream } from '../gateway/support/running-gateway.ts'
import { freePort } from '../support/free-port.ts'
import {
  haproxy,
  hasProxy,
  nginx,
  proxyAddress as proxy,
  startProxy,
  type ProxyProgram,
} from './other-proxy.ts'
import { eventually } from '../support/eventually.ts'

const client = '127.0.0.2'

interface Case {
  readonly program: ProxyProgram
  readonly how: string
  readonly clientAddressFrom: NonNullable<ListenSettings['clientAddressFrom']>
  readonly configure: (port: number, gatewayPort: number) => string
}

const cases: readonly Case[] = [
  {
    program: 'haproxy',
    how: 'X-Forwarded-For',
    clientAddressFrom: 'x-forwarded-for',
    configure: (port, gatewayPort) =>
      haproxy({ port, gatewayPort, lines: ['http-request set-header x-forwarded-for %[src]'] }),
  },
  ...['send-proxy', 'send-proxy-v2', 'send-proxy-v2-ssl-cn'].map((option): Case => ({
    program: 'haproxy',
    how: option,
    clientAddressFrom: 'proxy-protocol',
    configure: (port, gatewayPort) => haproxy({ port, gatewayPort, mode: 'tcp', server: option }),
  })),
  {
    program: 'nginx',
    how: 'X-Forwarded-For, behind what the client sent',
    clientAddressFrom: 'x-forwarded-for',
    configure: (port, gatewayPort) =>
      nginx({ port, gatewayPort, header: 'X-Forwarded-For $proxy_add_x_forwarded_for' }),
  },
  {
    program: 'nginx',
    how: 'Forwarded',
    clientAddressFrom: 'forwarded',
    configure: (port, gatewayPort) =>
      nginx({ port, gatewayPort, header: 'Forwarded "for=$remote_addr;proto=http"' }),
  },
]

for (const { program, how, clientAddressFrom, configure } of cases) {
  it.skipIf(!hasProxy[program])(`the client is that of ${program} (${how}), whatever it claims`, async () => {
    const { gateway } = await startGatewayAndUpstream({
      adjust: (settings) => ({
        ...settings,
        listen: { ...settings.listen, trustedProxies: [`${proxy}/32`], clientAddressFrom },
      }),
    })
    const port = await freePort()
    await startProxy(program, configure(port, Number(new URL(gateway.url).port)), port)
    const sent = request({
      host: proxy,
      port,
      localAddress: client,
      method: 'POST',
      path: '/v1/table/a/drop',
      headers: {
        'x-api-key': gateway.key('dev'),
        'x-forwarded-for': '203.0.113.9',
        forwarded: 'for=203.0.113.9',
      },
    })
    sent.end()
    const [response] = await once(sent, 'response')
    response.resume()
    expect(response.statusCode).toBe(200)
    const [intent] = await eventually(async () => {
      const intents = ofKind(await recordsOf(gateway.auditFolder), 'intent')
      expect(intents).toHaveLength(1)
      return intents
    })
    expect(intent).toMatchObject({ client, peer: proxy })
  })
}

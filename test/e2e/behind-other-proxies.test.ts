import { once } from 'node:events'
import { request } from 'node:http'
import { expect, it } from 'vitest'
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
  readonly configure: (port: number, gatewayPort: number) => string
}

const cases: readonly Case[] = [
  {
    program: 'haproxy',
    how: 'X-Forwarded-For',
    configure: (port, gatewayPort) =>
      haproxy({ port, gatewayPort, lines: ['http-request set-header x-forwarded-for %[src]'] }),
  },
  {
    program: 'nginx',
    how: 'X-Forwarded-For, behind what the client sent',
    configure: (port, gatewayPort) =>
      nginx({ port, gatewayPort, header: 'X-Forwarded-For $proxy_add_x_forwarded_for' }),
  },
]

for (const { program, how, configure } of cases) {
  it.skipIf(!hasProxy[program])(`the client is that of ${program} (${how}), whatever it claims`, async () => {
    const { gateway } = await startGatewayAndUpstream({
      adjust: (settings) => ({
        ...settings,
        listen: { ...settings.listen, trustedProxies: [`${proxy}/32`] },
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

import { expect, it } from 'vitest'
import { startGatewayWithRoute } from '../../gateway/support/pass-through-gateway.ts'

// The pass-through port has the host of the catalog: an application must not decide for it, or for a proxy in front.
it('headers of an application about the whole host do not reach the browser', async () => {
  const { port, application } = await startGatewayWithRoute()
  const received = {
    'accept-ch': 'sec-ch-ua-full-version',
    'alt-svc': 'h3="evil.example:443"',
    'clear-site-data': '"*"',
    nel: '{"report_to":"evil","max_age":86400}',
    'origin-agent-cluster': '?0',
    'public-key-pins': 'pin-sha256="AAAA"; max-age=86400',
    'reporting-endpoints': 'evil="https://evil.example"',
    'service-worker-allowed': '/',
    'strict-transport-security': 'max-age=31536000; includeSubDomains',
    'x-accel-redirect': '/internal',
    'x-header-of-the-future': '1',
  }
  application.handler = (_, response) => response.writeHead(200, { ...received, etag: '"1"' }).end()
  const { headers } = await port.get('/ui')
  expect(headers).toMatchObject({ etag: '"1"' })
  expect(Object.keys(headers).filter((name) => Object.hasOwn(received, name))).toEqual([])
})

import { expect, it } from 'vitest'
import { startGatewayWithRoute } from '../../gateway/support/pass-through-gateway.ts'

// The origin of a pass-through route is that of the catalog and of /docs: an application must not decide for it.
it.each([
  ['accept-ch', 'sec-ch-ua-full-version'],
  ['alt-svc', 'h3="evil.example:443"'],
  ['clear-site-data', '"*"'],
  ['expect-ct', 'max-age=86400, enforce, report-uri="https://evil.example"'],
  ['nel', '{"report_to":"evil","max_age":86400}'],
  ['origin-agent-cluster', '?0'],
  ['origin-trial', 'token'],
  ['public-key-pins', 'pin-sha256="AAAA"; max-age=86400'],
  ['public-key-pins-report-only', 'pin-sha256="AAAA"; max-age=86400'],
  ['report-to', '{"group":"evil","max_age":86400,"endpoints":[{"url":"https://evil.example"}]}'],
  ['reporting-endpoints', 'evil="https://evil.example"'],
  ['service-worker-allowed', '/'],
  ['set-login', 'logged-in'],
  ['speculation-rules', '"/v1/speculate.json"'],
  ['strict-transport-security', 'max-age=31536000; includeSubDomains'],
  ['x-accel-redirect', '/internal'],
  ['x-permitted-cross-domain-policies', 'all'],
  ['x-header-of-the-future', '1'],
])('%s of an application does not reach the browser', async (name, value) => {
  const { gateway, application } = await startGatewayWithRoute()
  application.answering = (_, response) => response.writeHead(200, { [name]: value, etag: '"1"' }).end()
  const { headers } = await gateway.get('/ui')
  expect(headers).toMatchObject({ etag: '"1"' })
  expect(headers).not.toHaveProperty(name)
})

import { readFileSync } from 'node:fs'
import { catalogGateway } from 'catalog-gateway/fastify'
import fastify from 'fastify'

const https = { key: readFileSync('tls.key'), cert: readFileSync('tls.crt') }
const app = fastify({ https })

// Stands for the sign-in of the application.
const sessions = new Map([['ada-1', { name: 'ada', groups: ['analysts'] }]])

await app.register(catalogGateway, {
  prefix: '/catalog',
  settings: {
    upstream: { url: process.env.CATALOG_URL },
    policies: { folder: 'policies' },
    audit: { folder: 'audit' },
  },
  authenticate: (request) => sessions.get(request.headers['x-session']),
})
app.get('/', () => 'The catalog is at /catalog.\n')

process.once('SIGTERM', () => app.close())
console.log(`listening on ${await app.listen({ port: Number(process.env.PORT ?? 8443) })}`)

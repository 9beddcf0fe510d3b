import { expect, it } from 'vitest'
import { arrowUpload } from '../../support/arrow-upload.ts'
import { useSharedGateway } from '../support/running-gateway.ts'

const shared = useSharedGateway()

it.each<[target: string, body: object | undefined, headers: Record<string, string>]>([
  ['register', { location: '' }, {}],
  ['declare', { location: '' }, {}],
  ['declare', { properties: { location: '' } }, {}],
  ['create', undefined, { 'x-catalog-table-location': '' }],
  ['create', undefined, { 'x-catalog-table-properties': '{"location":""}' }],
])('an empty location of a table to %s is refused (%j, %j)', async (target, body, headers) => {
  const type = body === undefined ? 'application/vnd.apache.arrow.stream' : 'application/json'
  const response = await shared.gateway.send('POST', `/v1/table/prod$t/${target}`, {
    body: body === undefined ? arrowUpload : JSON.stringify(body),
    headers: { 'content-type': type, ...headers },
  })
  expect(response).toMatchObject({ status: 400 })
  expect(JSON.stringify(response)).toContain('location')
  expect(shared.upstream.requests).toEqual([])
})

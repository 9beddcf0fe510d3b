import { isObject } from '../../lib/json/is-object.ts'
import type { MemberInterest } from '../json/json-transformer.ts'
import { transformResponse } from './remove-members.ts'

const region = /^[a-z0-9-]{1,64}$/
/** Without user and query, which may contain secrets such as the signature of an Azure URL. */
const endpoint = /^https?:\/\/[\w.:/[\]~-]{1,1024}$/
const boolean = /^(true|false)$/

/**
 * The storage options that contain no secrets, each with the form of its values. It is an allow-list: an option that
 * the gateway does not know may be a secret.
 */
const publicOptions: ReadonlyMap<string, RegExp> = new Map([
  ['aws_region', region],
  ['aws_default_region', region],
  ['region', region],
  ['default_region', region],
  ['aws_endpoint', endpoint],
  ['aws_endpoint_url', endpoint],
  ['azure_storage_endpoint', endpoint],
  ['endpoint', endpoint],
  ['endpoint_url', endpoint],
  ['aws_virtual_hosted_style_request', boolean],
  ['virtual_hosted_style_request', boolean],
  ['allow_http', boolean],
  ['azure_storage_account_name', /^[a-z0-9]{3,24}$/],
])

/**
 * Removes storage credentials at any depth from the body of a response; the options that only say where the store is
 * remain. Options are removed as a whole if none remains, because clients with empty options ignore those of their
 * environment. Throws ServiceUnavailable (502) for a body that is not JSON.
 */
export function withholdCredentials(body: Buffer): Buffer {
  let hasEmptyOptions = false
  const filtered = transformResponse(body, {
    visitName: (name) => interests.get(name) ?? 'members',
    visitValue(text) {
      const options = selectPublicOptions(JSON.parse(text))
      hasEmptyOptions ||= Object.keys(options).length === 0
      return JSON.stringify(options)
    },
  })
  if (!hasEmptyOptions) return filtered
  return transformResponse(filtered, {
    visitName: () => 'members',
    isAbsentIfEmpty: (name) => name === 'storage_options',
  })
}

const interests: ReadonlyMap<string, MemberInterest> = new Map([
  ['storage_options', 'value'],
  ['expires_at_millis', 'removal'],
])

function selectPublicOptions(options: unknown): object {
  if (!isObject(options)) return {}
  return Object.fromEntries(Object.entries(options).filter(isPublic))
}

function isPublic([name, value]: [string, unknown]): boolean {
  return typeof value === 'string' && publicOptions.get(name)?.test(value) === true
}

import { expect, it } from 'vitest'
import { operationNames } from '../../../src/catalog-api/operations.ts'
import { collectMemberNames, findSchemas } from '../../../src/catalog-api/schemas.ts'
import { credentialWords, editResponse } from '../../../src/gateway/upstream/edit-response.ts'
import { runAtOnce } from '../../../src/lib/async/run-in-slices.ts'

/** Returns the names of the members that remain for a caller without storage credentials. */
function withhold(names: readonly string[]): string[] {
  const body = Buffer.from(JSON.stringify(Object.fromEntries(names.map((name) => [name, 1]))))
  const edits = {
    withholdsCredentials: true,
    form: undefined,
    omitted: [],
    mayBeText: false,
    replacedId: undefined,
    database: [],
  }
  return Object.keys(JSON.parse(String(runAtOnce(editResponse(body, edits)))) as object)
}

// JSON needs no escape for any of these.
it.each(credentialWords)('removes a member with %s in its name, whatever is between its letters', (word) => {
  for (const separator of ['', '_', '-', ' ', '\x7f', '\u00a0', '\u200b']) {
    const name = word.split('').join(separator)
    for (const written of [name, name.toUpperCase(), `aws_${name}`, `${name}_json`])
      expect(withhold([written]), JSON.stringify(written)).toEqual([])
  }
})

it.each([
  'aws_access_key_id',
  'aws_secret_access_key',
  'azure_client_secret',
  'azure_storage_master_key',
  'credential_process',
  'credentials_json',
  'google_application_credentials',
  'google_service_account',
  'google_service_account_key',
  'google_storage_token',
])('removes %s', (name) => {
  expect(withhold([name, 'kept'])).toEqual(['kept'])
})

it('removes no member of the response schemas but the storage options', () => {
  const names = new Set(
    operationNames.flatMap((name) => [...collectMemberNames(findSchemas(name)?.response)]),
  )
  expect([...names].filter((name) => withhold([name]).length === 0)).toEqual(['storage_options'])
})

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, inject, it } from 'vitest'
import { getOpenApiDocument } from '../../../src/catalog-api/openapi/openapi-document.ts'
import { lint } from './openapi-linters.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

it.for(['redocly', 'spectral'] as const)(
  'the OpenAPI document keeps the recommended rules of %s',
  async (linter, { skip }) => {
    skip(!inject('installedClients').includes('openapi-linters'), 'the linters are not installed')
    const file = join(await temporaryFolder(), 'openapi.json')
    await writeFile(file, getOpenApiDocument())
    await lint(linter, file)
    // The rules find errors.
    const { info: _info, ...rest } = JSON.parse(getOpenApiDocument()) as Record<string, unknown>
    await writeFile(file, JSON.stringify(rest))
    await expect(lint(linter, file)).rejects.toThrow()
  },
)

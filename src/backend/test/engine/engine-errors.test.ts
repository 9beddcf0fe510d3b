import { expect, it } from 'vitest'
import type { ErrorName } from '../../../catalog-api/catalog-error.ts'
import { toCatalogError } from '../../catalog/known-errors.ts'

/** Texts of `Error` in `lance-core`; `Internal` where nothing but the log can help, although they resemble others. */
const messages: readonly [message: string, kind: ErrorName][] = [
  ['Invalid user input: x is y', 'InvalidInput'],
  ['Dataset already exists: /data/t.lance', 'TableAlreadyExists'],
  ['Append with different schema: `a` is missing', 'TableSchemaValidationError'],
  ['Dataset at path data/t.lance was not found: x', 'TableNotFound'],
  ['Encountered corrupt file data/t.lance/data/x.lance: x', 'Internal'],
  ['Not supported: x', 'Unsupported'],
  ['Commit conflict for version 3: x', 'ConcurrentModification'],
  ['Incompatible transaction: x', 'ConcurrentModification'],
  ['Retryable commit conflict for version 3: x', 'ConcurrentModification'],
  ['Too many concurrent writers. Attempted 6 times', 'ConcurrentModification'],
  ['Operation timed out: x', 'ServiceUnavailable'],
  ['Unprocessable: x', 'InvalidInput'],
  ['LanceError(Arrow): x', 'InvalidInput'],
  ['LanceError(Schema): x', 'TableSchemaValidationError'],
  ['Not found: data/t.lance/data/x.lance', 'Internal'],
  ['LanceError(IO): x', 'Internal'],
  ['LanceError(Index): x', 'Internal'],
  ['Lance index not found: x', 'TableIndexNotFound'],
  ['Ref is invalid: x', 'InvalidInput'],
  ['Ref conflict error: tag x already exists', 'TableTagAlreadyExists'],
  ['Ref conflict error: branch x already exists', 'TableBranchAlreadyExists'],
  ['Ref conflict error: branch x is referenced by y', 'InvalidInput'],
  ['Ref not found error: tag x does not exist', 'TableTagNotFound'],
  ['Ref not found error: branch x does not exist', 'TableBranchNotFound'],
  ['Version not found error: x', 'TableVersionNotFound'],
  ['Version conflict error: x', 'Unsupported'],
  ["Field 'x' not found.\nAvailable fields: ['y']", 'InvalidInput'],
  ['Spill disk cap of 5 bytes exceeded; currently using 6 bytes', 'ServiceUnavailable'],
]

it.each(messages)('%s', (message, kind) => {
  const source = ', /usr/local/cargo/registry/src/x/lance-8.0.0/src/io/commit.rs:1046:24'
  for (const text of [message, `lance error: ${message}${source}`]) {
    const error = Object.assign(new Error(text), { code: 'GenericFailure' })
    expect(toCatalogError(error)).toMatchObject({ kind })
  }
})

import { equal } from 'node:assert/strict'
import type { ErrorName } from '../../../src/catalog-api/catalog-error.ts'
import type { Identifier } from '../../../src/catalog-api/identifiers.ts'
import { getOperation, operationNames, type BuiltInOperation } from '../../../src/catalog-api/operations.ts'
import { NotTestable, type Parts } from '../catalog-client.ts'
import { memberTypes, requiredMembers } from '../openapi-requirements.ts'
import { sampleRequests } from '../sample-requests.ts'
import type { Case, Check, Fixture } from '../fixture.ts'

export const routineCases: readonly Case[] = operationNames.flatMap((name) =>
  Object.entries(routineOf(getOperation(name))).map(([title, run]) => ({ operation: name, title, run })),
)

function routineOf(operation: BuiltInOperation): Record<string, Check> {
  return {
    ...refusals(operation),
    ...(operation.object !== 'none' && identifierChecks(operation)),
    ...(operation.object !== 'none' && bodyAndRouteChecks(operation)),
    ...((operation.body === 'json' || operation.body === 'map') && bodyChecks(operation)),
    ...queryChecks(operation),
    ...Object.fromEntries(
      otherMethods(operation).map((method): [string, Check] => [
        `accepts ${method} as well as ${operation.method}`,
        (fixture) => missing(fixture, operation, { method, body: undefined }),
      ]),
    ),
  }
}

function otherMethods({ method, methods }: BuiltInOperation): readonly string[] {
  return methods.filter((accepted) => accepted !== method)
}

/** Sends the minimal request for a missing object. The specific 404 proves that the request was parsed. */
async function missing(fixture: Fixture, operation: BuiltInOperation, parts: Parts = {}): Promise<void> {
  const [id, ...errors] = absentFor(fixture, operation)
  await fixture.expectError(operation.name, id, { ...sampleRequests[operation.name], ...parts }, ...errors)
}

/** Returns an id that does not exist, and the errors that report it. */
function absentFor(
  { runNamespace, sampleTable }: Fixture,
  { name, object, creates, errors }: BuiltInOperation,
): [Identifier, ...ErrorName[]] {
  if (object === 'transaction') {
    const uuid = '00000000-0000-4000-8000-000000000000'
    return [[...sampleTable, uuid], 'TransactionNotFound']
  }
  // Dropping a missing function is no error.
  if (name === 'DropFunction') return [[...runNamespace, 'absent', 'x'], 'NamespaceNotFound']
  // The dataset of the minimal RegisterTable does not exist either, and may be checked first.
  if (name === 'RegisterTable') return [[...runNamespace, 'absent', 'x'], 'NamespaceNotFound', 'InvalidInput']
  if (creates && !errors.includes('TableNotFound'))
    return [[...runNamespace, 'absent', 'x'], 'NamespaceNotFound']
  if (object === 'namespace') return [[...runNamespace, 'absent'], 'NamespaceNotFound']
  return [[...runNamespace, 'absent'], 'TableNotFound']
}

function presentFor({ runNamespace, sampleTable }: Fixture, { object }: BuiltInOperation): Identifier {
  if (object === 'namespace') return runNamespace
  return object === 'transaction' ? [...sampleTable, '1'] : sampleTable
}

function refusals(operation: BuiltInOperation): Record<string, Check> {
  return {
    'rejects another method with 405': async (fixture) => {
      const { status, headers } = await fixture.call(operation.name, presentFor(fixture, operation), {
        method: 'DELETE',
      })
      equal(status, 405)
      equal(headers.get('allow')?.includes(operation.method), true, 'the header allow names the method')
    },
    'rejects missing credentials with 401': async (fixture) => {
      if (!fixture.requiresCredentials)
        throw new NotTestable('no credentials were given: who is let in is not known')
      const parts = { ...sampleRequests[operation.name], anonymous: true }
      await fixture.expectError(operation.name, presentFor(fixture, operation), parts, 'Unauthenticated')
    },
  }
}

function identifierChecks(operation: BuiltInOperation): Record<string, Check> {
  const { name, object } = operation
  return {
    'rejects a missing object with 404': (fixture) => missing(fixture, operation),
    'ignores a trailing slash': (fixture) => missing(fixture, operation, { trailingSlash: true }),
    'accepts any delimiter': async (fixture) => {
      for (const delimiter of ['$', '.', '::']) await missing(fixture, operation, { delimiter })
    },
    'rejects an id with empty parts, and an empty or repeated delimiter': async (fixture) => {
      const sample = sampleRequests[name] ?? {}
      const [runNamespace = ''] = fixture.runNamespace
      const empty = [`${runNamespace}$$x`, `${runNamespace}$`, `$${runNamespace}`, '$$']
      for (const rawId of [...empty, '%ff', `${runNamespace}%00`])
        await fixture.expectError(name, [], { ...sample, rawId }, 'InvalidInput')
      for (const delimiter of [[''], ['$', '$'], ['$', '.']]) {
        const parts = { ...sample, query: { ...sample.query, delimiter } }
        await fixture.expectError(name, fixture.runNamespace, parts, 'InvalidInput')
      }
    },
    ...(object !== 'namespace' && {
      'rejects the root': (fixture) =>
        fixture.expectError(name, [], sampleRequests[name] ?? {}, 'InvalidInput'),
    }),
  }
}

function bodyAndRouteChecks(operation: BuiltInOperation): Record<string, Check> {
  const { name, routeMembers, methods } = operation
  if (routeMembers.length === 0 || !methods.includes('POST')) return {}
  const method = 'POST'
  const sample = sampleRequests[name]?.body as object | undefined
  return {
    'accepts the id in the body, with a context, or null': async (fixture) => {
      const [id] = absentFor(fixture, operation)
      await missing(fixture, operation, { method, body: { ...sample, id, context: { trace: 'x' } } })
      await missing(fixture, operation, { method, body: { ...sample, id: null, context: null } })
    },
    'rejects an id in the body that differs from the route': async (fixture) => {
      const present = presentFor(fixture, operation)
      // Some servers treat an empty id as absent: clients send it by default.
      for (const id of [[...present, 'x'], ['x'], 'x', [7], 7]) {
        await fixture.expectError(name, present, { method, body: { ...sample, id } }, 'InvalidInput')
      }
    },
    ...(routeMembers.includes('index_name') && {
      'rejects an index name in the body that differs from the route': (fixture) =>
        fixture.rejects(name, fixture.sampleTable, { index_name: 'other' }, 'InvalidInput'),
    }),
  }
}

function bodyChecks(operation: BuiltInOperation): Record<string, Check> {
  const { name, body, object } = operation
  const required = body === 'json' ? requiredMembers(name) : []
  const sample = sampleRequests[name]?.body ?? {}
  return {
    'rejects a body that is not a JSON object': async (fixture) => {
      for (const text of ['[]', '7', '"x"', '{', '{} {}', 'true']) {
        await fixture.rejects(name, presentFor(fixture, operation), text, 'InvalidInput')
      }
    },
    ...(body === 'map' && {
      'rejects a request without the body that holds its data': async (fixture) => {
        for (const text of [undefined, '', 'null']) {
          await fixture.rejects(name, presentFor(fixture, operation), text, 'InvalidInput')
        }
      },
    }),
    ...(body === 'json' && {
      'rejects a member of another type': async (fixture) => {
        for (const [member, type] of memberTypes(name)) {
          const wrong = { ...sample, [member]: type === 'integer' || type === 'number' ? 'x' : 7 }
          await fixture.rejects(name, presentFor(fixture, operation), wrong, 'InvalidInput')
        }
      },
    }),
    ...(body === 'json' &&
      object !== 'none' && {
        'ignores an unknown member': async (fixture) => {
          if (fixture.findings.isGateway)
            throw new NotTestable('the catalog is behind a catalog-gateway, which refuses unknown members')
          await missing(fixture, operation, { body: { ...sample, unknown_member: { of: [1] } } })
        },
      }),
    ...(required.length > 0 && {
      'rejects a request without required members': async (fixture) => {
        const wrong = required.flatMap((member) =>
          [undefined, null, true].map((value) => ({ ...sample, [member]: value })),
        )
        for (const body of [undefined, '', 'null', '{}', ...wrong]) {
          await fixture.rejects(name, presentFor(fixture, operation), body, 'InvalidInput')
        }
      },
    }),
    ...(required.length === 0 && body === 'json' && object !== 'none'
      ? {
          'treats no body, an empty one, null and {} the same': async (fixture) => {
            for (const text of [undefined, '', 'null', '{}'])
              await missing(fixture, operation, { body: text })
          },
        }
      : {}),
  }
}

function queryChecks(operation: BuiltInOperation): Record<string, Check> {
  const typed = [...operation.query].filter(([, type]) => type === 'integer' || type === 'boolean')
  if (typed.length === 0) return {}
  return {
    'rejects a parameter of another type': async (fixture) => {
      const { query, ...sample } = sampleRequests[operation.name] ?? {}
      for (const [name] of typed) {
        const parts = { ...sample, query: { ...query, [name]: 'x' } }
        await fixture.expectError(operation.name, presentFor(fixture, operation), parts, 'InvalidInput')
      }
    },
  }
}

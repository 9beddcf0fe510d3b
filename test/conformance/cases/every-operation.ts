import { equal } from 'node:assert/strict'
import type { ErrorName } from '../../../src/catalog-api/catalog-error.ts'
import type { Identifier } from '../../../src/catalog-api/identifiers.ts'
import { getOperation, operationNames, type Operation } from '../../../src/catalog-api/operations.ts'
import { NotTestable, type Parts } from '../catalog-client.ts'
import { requiredMembers } from '../interface-document.ts'
import { sampleRequests } from '../sample-requests.ts'
import type { Case, Check, World } from '../world.ts'

/** The requirements common to all operations (interface sections 3, 4 and 8.1). */
export const routineCases: readonly Case[] = operationNames.flatMap((name) =>
  Object.entries(routineOf(getOperation(name))).map(([title, run]) => ({ operation: name, title, run })),
)

function routineOf(operation: Operation): Record<string, Check> {
  return {
    ...refusals(operation),
    ...(operation.object !== 'none' && identifierChecks(operation)),
    ...(operation.object !== 'none' && bodyAndRouteChecks(operation)),
    ...((operation.body === 'json' || operation.body === 'map') && bodyChecks(operation)),
    ...(operation.alsoGet && {
      'GET does as well as POST': (world) => missing(world, operation, { method: 'GET', body: undefined }),
    }),
  }
}

/** Sends the minimal request for a missing object. The specific 404 proves that the request was parsed. */
async function missing(world: World, operation: Operation, parts: Parts = {}): Promise<void> {
  const [id, ...errors] = absentFor(world, operation)
  await world.refused(operation.name, id, { ...sampleRequests[operation.name], ...parts }, ...errors)
}

/** Returns an id that does not exist, and the errors that report it. */
function absentFor(
  { home, standing }: World,
  { name, object, errors }: Operation,
): [Identifier, ...ErrorName[]] {
  if (object === 'transaction') {
    const uuid = '00000000-0000-4000-8000-000000000000'
    return [[...standing, uuid], 'TransactionNotFound']
  }
  const makes = errors.includes('TableAlreadyExists') || errors.includes('NamespaceAlreadyExists')
  // The dataset of the minimal RegisterTable does not exist either, and may be checked first.
  if (name === 'RegisterTable') return [[...home, 'absent', 'x'], 'NamespaceNotFound', 'InvalidInput']
  if (makes && !errors.includes('TableNotFound')) return [[...home, 'absent', 'x'], 'NamespaceNotFound']
  if (object === 'namespace') return [[...home, 'absent'], 'NamespaceNotFound']
  return [[...home, 'absent'], 'TableNotFound']
}

/** Returns the id of an existing object. */
function presentFor({ home, standing }: World, { object }: Operation): Identifier {
  if (object === 'namespace') return home
  return object === 'transaction' ? [...standing, '1'] : standing
}

function refusals(operation: Operation): Record<string, Check> {
  return {
    'another method is answered with 405': async (world) => {
      const { status, headers } = await world.call(operation.name, presentFor(world, operation), {
        method: 'DELETE',
      })
      equal(status, 405)
      equal(headers.get('allow')?.includes(operation.method), true, 'the header allow names the method')
    },
    'without credentials it is answered with 401': async (world) => {
      if (!world.guarded) throw new NotTestable('no credentials were given: who is let in is not known')
      const parts = { ...sampleRequests[operation.name], anonymous: true }
      await world.refused(operation.name, presentFor(world, operation), parts, 'Unauthenticated')
    },
  }
}

function identifierChecks(operation: Operation): Record<string, Check> {
  const { name, object } = operation
  return {
    'what is not there is answered with 404': (world) => missing(world, operation),
    'a trailing slash means nothing': (world) => missing(world, operation, { trailingSlash: true }),
    'any delimiter joins the id': async (world) => {
      for (const delimiter of ['$', '.', '::']) await missing(world, operation, { delimiter })
    },
    'an id with empty parts, or a delimiter that is empty or repeated, is refused': async (world) => {
      const sample = sampleRequests[name] ?? {}
      const [home = ''] = world.home
      for (const rawId of [`${home}$$x`, `${home}$`, `$${home}`, '$$', '%ff', `${home}%00`]) {
        await world.refused(name, [], { ...sample, rawId }, 'InvalidInput')
      }
      for (const delimiter of [[''], ['$', '$'], ['$', '.']]) {
        await world.refused(
          name,
          world.home,
          { ...sample, query: { ...sample.query, delimiter } },
          'InvalidInput',
        )
      }
    },
    ...(object !== 'namespace' && {
      'the root is refused': (world) => world.refused(name, [], sampleRequests[name] ?? {}, 'InvalidInput'),
    }),
  }
}

/** Interface section 3.5. */
function bodyAndRouteChecks(operation: Operation): Record<string, Check> {
  const { name, routeMembers, method } = operation
  if (routeMembers.length === 0 || method === 'GET') return {}
  const sample = sampleRequests[name]?.body as object | undefined
  return {
    'the id may stand in the body, with a context, or be null': async (world) => {
      const [id] = absentFor(world, operation)
      await missing(world, operation, { body: { ...sample, id, context: { trace: 'x' } } })
      await missing(world, operation, { body: { ...sample, id: null, context: null } })
    },
    'an id in the body that differs from the route is refused': async (world) => {
      const present = presentFor(world, operation)
      // Some servers treat an empty id as absent: clients send it by default.
      for (const id of [[...present, 'x'], ['x'], 'x', [7], 7]) {
        await world.refused(name, present, { body: { ...sample, id } }, 'InvalidInput')
      }
    },
    ...(routeMembers.includes('index_name') && {
      'an index name in the body that differs from the route is refused': (world) =>
        world.refused(name, world.standing, { body: { index_name: 'other' } }, 'InvalidInput'),
    }),
  }
}

function bodyChecks(operation: Operation): Record<string, Check> {
  const { name, body, object } = operation
  const required = body === 'json' ? requiredMembers(name) : []
  const sample = sampleRequests[name]?.body ?? {}
  return {
    'a body that is no JSON object is refused': async (world) => {
      for (const text of ['[]', '7', '"x"', '{', '{} {}', 'true']) {
        await world.refused(name, presentFor(world, operation), { body: text }, 'InvalidInput')
      }
    },
    ...(body === 'map' && {
      'a request without a body is refused, for the body is the data': async (world) => {
        for (const text of [undefined, '', 'null']) {
          await world.refused(name, presentFor(world, operation), { body: text }, 'InvalidInput')
        }
      },
    }),
    ...(required.length > 0 && {
      'a request without what it must hold is refused': async (world) => {
        const wrong = required.flatMap((member) =>
          [undefined, null, true].map((value) => ({ ...sample, [member]: value })),
        )
        for (const body of [undefined, '', 'null', '{}', ...wrong]) {
          await world.refused(name, presentFor(world, operation), { body }, 'InvalidInput')
        }
      },
    }),
    ...(required.length === 0 && body === 'json' && object !== 'none'
      ? {
          'no body, an empty one, null and {} are the same': async (world) => {
            for (const text of [undefined, '', 'null', '{}']) await missing(world, operation, { body: text })
          },
        }
      : {}),
  }
}

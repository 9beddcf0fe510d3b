type Json = Readonly<Record<string, unknown>>

/** What the API server adds to the members of a policy. */
const ofKubernetes = ['apiVersion', 'kind', 'metadata', 'status']

/**
 * Returns an expression in CEL whose value is the paths of all members of `object` that its schema does not have, each
 * after a space; an empty string if there are none.
 */
export function listUnknownMembers(resourceSchema: Json): string {
  const properties = { ...(resourceSchema['properties'] as Json) }
  for (const name of ofKubernetes) properties[name] = {}
  return `${ofObject({ ...resourceSchema, properties }, 'object', '')}\n`
}

/** Returns an expression for the object that `value` evaluates to, or undefined if it may have any member. */
function ofObject(schema: Json, value: string, path: string): string | undefined {
  const { properties } = schema
  if (properties === undefined) return undefined
  const names = Object.keys(properties as Json).map((name) => `'${name}'`)
  const own = `${value}.filter(k, !(k in [${names.join(', ')}])).map(k, ' ${path}' + k).join('')`
  const children = Object.entries(properties as Readonly<Record<string, Json>>).flatMap(([name, child]) => {
    const member = `${value}['${name}']`
    const expression = ofMember(child, member, `${path}${name}`)
    return expression === undefined ? [] : `('${name}' in ${value} && ${member} != null ? ${expression} : '')`
  })
  return [own, ...children].join('\n+ ')
}

function ofMember({ items, ...schema }: Json, value: string, path: string): string | undefined {
  if (items === undefined) return ofObject(schema, value, `${path}.`)
  const element = `element${path.split('[]').length}`
  const expression = ofObject(items as Json, element, `${path}[].`)
  return expression && `${value}.map(${element}, ${expression}).join('')`
}

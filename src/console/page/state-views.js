import { byId, element, facts, quoted, show } from './elements.js'
import { formatDuration, formatId, formatNumber } from './format.js'

/** @typedef {Awaited<ReturnType<typeof import('../console-state.ts').readConsoleState>>} ConsoleState */
/** @typedef {import('../../audit/compare/last-comparison.ts').Comparison} Comparison */
/** @typedef {{ readonly seq: number, readonly time: string } | undefined} Seal */
/** @typedef {readonly (readonly [term: string, description: Node | string] | undefined)[]} Facts */

/**
 * @param {ConsoleState} state
 * @param {Seal} seal
 * @param {Comparison | undefined} comparison
 */
export function showState(state, seal, comparison) {
  const { version, now, startedAt, readiness, upstreams, policies, audit } = state
  const problems = checkTexts(readiness.problems)
  showStatus(problems.length === 0 ? 'ready' : `not ready: ${problems.join('; ')}`, problems.length === 0)
  show(byId('warnings'), checkTexts(readiness.warnings), (text) => element('li', {}, text))
  byId('about').textContent = `version ${version}, up for ${formatDuration(now - startedAt)}`
  show(byId('upstream-state'), [upstreams], (shown) => facts(upstreamFacts(shown)))
  show(byId('audit-state'), [audit], () => facts(auditFacts(audit, seal, now)))
  show(byId('policy-state'), [policies], () => facts(policyFacts(policies, now)))
  show(byId('comparison-state'), [comparison], () => comparisonView(comparison, now))
}

/** @param {Readonly<Record<string, string>>} found */
function checkTexts(found) {
  return Object.entries(found).map(([name, text]) => `${name}: ${text}`)
}

/**
 * @param {string} text
 * @param {boolean} isGood
 */
export function showStatus(text, isGood) {
  const status = byId('status')
  // Screen readers announce every assignment.
  if (status.textContent !== text) status.textContent = text
  status.className = isGood ? 'pill good' : 'pill bad'
}

/**
 * @param {string} text
 * @param {boolean} isGood
 */
function judged(text, isGood) {
  return element('span', { class: isGood ? 'good' : 'bad' }, text)
}

/**
 * @param {ConsoleState['upstreams']} upstreams
 * @returns {Facts}
 */
function upstreamFacts(upstreams) {
  return upstreams.map(({ name, origin, namespaces, healthy, breaker, active, pending }) => [
    name,
    element(
      'span',
      { title: origin },
      judged(healthy ? 'healthy' : 'unhealthy', healthy),
      breaker === 'closed' ? '' : judged(', circuit open', false),
      `, ${formatNumber(active)} active and ${formatNumber(pending)} pending requests, serves `,
      namespaces ? quoted(namespaces.join(', ')) : 'all other objects',
    ),
  ])
}

/**
 * @param {ConsoleState['audit']} audit
 * @param {Seal} seal
 * @param {number} now
 * @returns {Facts}
 */
function auditFacts({ writable, dropped, unresolved, tampered, head, sinks }, seal, now) {
  return [
    ['State', judged(writable ? 'writable' : 'unavailable: changes are refused', writable)],
    tampered === 0 ? undefined : ['Tampered', judged(`${formatNumber(tampered)} changes by others`, false)],
    ['Last', quoted(head)],
    [
      'Signed',
      seal ? `up to record ${seal.seq}, ${formatDuration(now - Date.parse(seal.time))} ago` : 'nothing yet',
    ],
    ['In doubt', formatNumber(unresolved)],
    dropped === 0 ? undefined : ['Lost', judged(`${formatNumber(dropped)} refusals or reloads`, false)],
    ...sinks.map(
      ({ name, lagRecords, lagSeconds }) =>
        /** @type {const} */ ([
          `Sink ${name}`,
          lagRecords === 0
            ? 'up to date'
            : `${formatNumber(lagRecords)} records, ${formatDuration(lagSeconds * 1000)} behind`,
        ]),
    ),
  ]
}

/**
 * @param {ConsoleState['policies']} policies
 * @param {number} now
 * @returns {Facts}
 */
function policyFacts({ revision, documents, loadedAt }, now) {
  return [
    ['Policies', formatNumber(documents)],
    ['Loaded', `${formatDuration(now - loadedAt)} ago`],
    ['Revision', quoted(revision.slice(0, 12))],
  ]
}

/**
 * @param {Comparison | undefined} comparison
 * @param {number} now
 */
function comparisonView(comparison, now) {
  if (comparison === undefined)
    return element(
      'p',
      {},
      'Not compared yet. This finds versions that were made past the gateway: ',
      element('code', {}, 'catalog-gateway audit compare --config gateway.yaml'),
    )
  const { time, since, tables, versions, unexplained, found, problems } = comparison
  const items = found.map(({ id, branch, version, time: madeAt = 'unknown time' }) =>
    element(
      'li',
      {},
      quoted(formatId(id)),
      ` version ${version}${branch === '' ? '' : ` of ${branch}`}, `,
      quoted(madeAt),
    ),
  )
  return element(
    'div',
    { class: unexplained + problems.length > 0 ? 'alarm' : undefined },
    facts([
      [
        'Unrecorded',
        judged(`${formatNumber(unexplained)} version${unexplained === 1 ? '' : 's'}`, unexplained === 0),
      ],
      ['Compared', `${formatNumber(versions)} versions of ${formatNumber(tables)} tables`],
      since === undefined ? undefined : ['Since', since],
      ['When', `${formatDuration(now - Date.parse(time))} ago`],
      problems.length === 0 ? undefined : ['Failed', judged(problems.join('; '), false)],
    ]),
    element('ul', { class: 'found', tabindex: items.length > 0 ? '0' : undefined }, ...items),
  )
}

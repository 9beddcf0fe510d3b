import { emptyView, refusedCommand } from './commands.js'
import { element } from './elements.js'
import { clock, quoted } from './format.js'
import { restrictionView } from './restriction-view.js'
import { denialView, ruleName } from './denial-view.js'
import { showFeed } from './search.js'

/** @typedef {import('../console-state.ts').RefusedRequest} RefusedRequest */

/** @param {readonly RefusedRequest[]} refusals */
export function showRefusals(refusals) {
  showFeed('refusal-feed', refusals, {
    texts: ({ requestId, principal, id, operation, stage, reason, denial, restrictedBy = [] }) => [
      `${requestId} ${operation} ${stage} ${reason}`,
      principal,
      id,
      denial?.id,
      ruleName(denial),
      ...restrictedBy.map(ruleName),
    ],
    key: ({ requestId, time }) => `${requestId} ${time}`,
    view: refusalItem,
    notFound: 'no refusal is found by the search',
    empty: () =>
      emptyView('No refusal since the start. A request without a credential is refused:', refusedCommand()),
  })
}

/** @param {RefusedRequest} refusal */
function refusalItem(refusal) {
  const { time, stage, reason, status, operation, id, principal, client, requestId } = refusal
  const { denial, restrictedBy } = refusal
  return element(
    'li',
    {},
    element(
      'p',
      {},
      element('strong', {}, `${status} ${reason}`),
      element('span', {}, operation),
      id && quoted(id),
      clock(time),
    ),
    element(
      'p',
      { class: 'quiet' },
      element('span', {}, principal === undefined ? 'nobody' : quoted(principal)),
      element('span', {}, `at ${stage}`),
      element('span', {}, 'from ', quoted(client)),
      element('span', {}, 'request ', quoted(requestId)),
    ),
    denial === undefined ? undefined : denialView(denial),
    restrictedBy === undefined ? undefined : restrictionsView(restrictedBy),
  )
}

/** @param {NonNullable<RefusedRequest['restrictedBy']>} restrictions */
function restrictionsView(restrictions) {
  return element(
    'details',
    {},
    element('summary', {}, `restricted by ${restrictions.map(ruleName).join(' and ')}`),
    ...restrictions.map(restrictionView),
  )
}

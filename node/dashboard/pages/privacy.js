// What have I spent, what does one more model cost, and who can see it.
import { meter } from './overview.js';
import { card, code, empty, facts, h, table } from './dom.js';
import { aboutOneIn, count, likely, plural, share } from './words.js';

export function privacy({ budget: b }) {
  if (!b) return h('h1', {}, 'What have I spent?');
  const newest = b.cohorts?.at(-1);
  return [
    h('section', { class: 'verdict' },
      h('h1', {}, h('span', { class: 'question' }, 'What have I spent?'), ' ', h('span', { class: 'answer' }, headline(b, newest))),
      newest && !b.unbounded ? meter(waits(b) ? 1 : newest.spent_share) : null,
      h('p', {}, outlook(b))),
    card('What is guaranteed', b.unbounded ? unbounded(b) : guarantee(b)),
    card('By group of records', cohorts(b)),
    b.sums ? card('Whom it rests on in private sums', committee(b.sums)) : null,
    card('Who can see what was sent', h('p', {}, b.visible_to),
      b.listeners?.length ? h('p', {}, `${plural(b.listeners.length, 'neighbour has', 'neighbours have')} listened; `, code('p2pnode budget'), ' names them.') : null),
    b.unbounded || !b.person?.length ? null : card('If several records are about one person', people(b.person)),
    card('What others can find out all the same', h('ul', {}, (b.not_covered || []).map((what) => h('li', {}, what))),
      h('p', {}, 'Your records, your personal model and its predictions never leave this device.')),
  ];
}

// waits says whether older records have spent everything and new ones are too few to go on.
const waits = (b) => b.records_missing > 0 && b.cohorts?.some((c) => c.releases_left > 0);

function headline(b, newest) {
  if (b.unbounded) return 'There is no guarantee';
  if (!newest) return 'Nothing yet';
  if (waits(b)) return 'All of the budget of older records';
  const spent = newest.retired ? 'All' : share(newest.spent_share);
  return b.plan ? `${share(b.plan.steps_done / b.plan.steps)} of the plan` : `${spent} of the budget`;
}

// outlook says what one more model costs and how many there will be.
function outlook(b) {
  if (b.contradicted_round > 0 || b.contradicted_by_sum) return 'Nothing more is sent: this directory is an old copy, and does not know what was spent since.';
  if (!b.cohorts?.length) return 'There are no records yet. Each record you import has the whole budget for its life.';
  if (b.sums?.only) return b.sums.sums_left === 0 ? 'Nothing more is sent: all private sums are over.' : `Nothing but private sums is sent; ${plural(b.sums.sums_left, 'result')} still to come.`;
  if (b.unprotected) return 'Sending costs nothing, because nothing is protected.';
  if (b.stranded) return 'Nothing more is sent: the directory was restored, and its task goes in rounds, where nobody would follow it. It predicts. To take part, make a node in an empty directory.';
  if (b.releases_left === 0) {
    if (waits(b)) return `New records wait for ${plural(b.records_missing, 'more training record')} (every fifth that comes is held out): a model of few has as much noise as one of many, and costs each of them as much.`;
    return b.plan?.steps_left === 0 ? 'The plan is over: these records are never shared any more.'
      : 'Nothing more is sent: the budget of these records is used. New records begin a group with a budget of its own.';
  }
  const rising = b.later_releases_cost_more ? ' The one after that costs more.' : '';
  const price = b.plan ? 'One more model is one step of the plan' : `Sending one more model costs ${share(b.next_release_share)} of the budget`;
  return `${price}; ${plural(b.releases_left, 'more can', 'more can')} be sent.${rising} What is spent never comes back.`;
}

function guarantee(b) {
  const one = b.person[0];
  return [
    h('p', {}, 'Somebody sees everything this node ever sends for this task, and even knows all your other records. What they thought 50 % likely about one record of yours, they can come to think ',
      h('strong', {}, `${likely(one.belief_of_half_at_most)} likely at most`),
      b.chance_of_more_than_epsilon > 0 ? `, but for ${aboutOneIn(b.chance_of_more_than_epsilon)} cases.` : '.'),
    facts(['epsilon', String(one.epsilon), 'how much may be learned of a record over its whole life'],
      ['delta', String(one.delta), 'how often, and by how much, more than that'],
      ['noise', b.noise], ['accounting', b.accounting], ['pace', b.pace]),
  ];
}

function unbounded(b) {
  return h('p', { class: 'bad' }, b.unprotected
    ? 'Every model is sent without noise, because the configuration says so (key “unprotected”). Who collects them may work out your records. What was sent stays sent.'
    : `${plural(b.unprotected_releases, 'model was', 'models were')} sent without noise. To start clean, make a new directory and put only new records in it.`);
}

function cohorts(b) {
  if (!b.cohorts?.length) return empty('There are no records yet.');
  const shown = (columns, cells) => table('cohorts', 'Records that arrived together pay together',
    ['group', ['records', 'n'], ...columns], b.cohorts.map((c) => [String(c.cohort), count(c.records), ...cells(c)]));
  const spent = (c) => (c.retired ? `at least ${share(c.spent_share_at_least)}` : share(c.spent_share));
  return [
    b.sums?.only
      ? shown([['private sums', 'n'], ['spent', 'n'], 'state'], (c) => [count(c.sums), spent(c), c.retired ? cohortState(b, c) : c.sums > 0 ? 'has paid' : 'has paid for none'])
      : shown([['models sent', 'n'], ['spent', 'n'], ['next costs', 'n'], ['left', 'n'], 'state'], (c) => [count(c.releases), spent(c),
        c.releases_left > 0 ? share(c.next_release_share) : '–', count(c.releases_left), cohortState(b, c)]),
    h('p', { class: 'quiet' }, 'Every fifth record is not counted here: it is held out and is never part of what is sent.'),
  ];
}

function cohortState(b, c) {
  if (c.retired) return 'retired by a restore';
  if (b.stranded) return 'takes no part';
  if (c.releases_left === 0 && c.sums === 0) return 'used up';
  return b.records_missing > 0 && c.releases_left > 0 ? `waits for ${count(b.records_missing)} more` : 'in use';
}

function committee(s) {
  return [
    h('p', {}, `Private sums are added up by a committee of ${s.committee.members.length}, whom the task names. As long as at most ${s.committee.colluding} of them work together against you, the guarantee above holds for sums too. They take ${share(s.share)} of each record's budget.`),
    s.only_fetches ? h('p', {}, 'Your node adds nothing: a sum would cost more than your whole budget. It has the results.') : null,
  ];
}

function people(list) {
  return table('people', 'The guarantee above is for one record. For a person with more:',
    [['records', 'n'], ['epsilon', 'n'], ['50 % likely can become', 'n']],
    list.map((p) => [count(p.records), p.epsilon.toPrecision(3), p.delta > 0.5 ? 'certainty' : likely(p.belief_of_half_at_most)]));
}

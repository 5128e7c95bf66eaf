import type { Scene } from '../studio.ts'

/** What the log knows of a few calls: in order, under their causes, side by side, counted; and one of them again. */
export const log: Scene = {
  pictures: ['log', 'log-tree', 'log-timeline', 'log-stats', 'activity', 'replay'],
  async record(studio) {
    const { travel, files } = studio.servers
    studio.configure({
      mcpServers: { travel, files: { ...files, roots: false } },
      jackfield: { rules: [{ id: 'trip', verdict: 'allow', server: '*' }] },
    })
    await studio.quietly(
      'jackfield call travel searchFlights origin=Oslo destination=Barcelona date=2027-06-15',
      `jackfield call files read_text_file path=${studio.work}/wishes.md`,
      `jackfield call files read_text_file path=${studio.work}/plan.md`,
      'jackfield read travel travel://bookings',
    )
    await studio.shows('log', 'Everything that happened, filtered', [
      'jackfield log -kind:http --limit 16',
      'jackfield log kind:call status:error',
    ])
    await studio.shows('log-tree', 'Every message below its cause', 'jackfield log --tree kind:call,read')
    await studio.shows('log-timeline', 'Servers side by side', 'jackfield log --timeline')
    await studio.shows('log-stats', 'Counts, failures and durations', 'jackfield log --stats')
    const listed = await studio.quietly('jackfield log kind:call tool:read_text_file status:ok')
    const [, id = ''] = /^(\d+) .*read_text_file of files$/m.exec(listed) ?? []
    studio.write('trip/wishes.md', '# Wishes\n\n- Aisle seat\n- Sea view\n')
    await studio.shows(
      'replay',
      'A repeated call, and the differences of its result',
      `jackfield replay ${id}`,
    )
    await studio.shows('activity', 'The rows of calls, verified', [
      'jackfield activity',
      'jackfield activity verify',
    ])
  },
}

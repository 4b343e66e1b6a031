/** Where the demo is shown: redrawn in place on a terminal, one line for each event everywhere else. */
import { canColour, canMove, type Io } from '../src/shared/io.ts';
import { CHAPTERS, type Chapter } from './story.ts';
import { canvas, frame, logLine, NARROWEST } from './view.ts';
import type { DemoWorld } from './world.ts';

export interface Screen {
  /** Shows the world as it is now. */
  draw(world: DemoWorld): void;
  /** Leaves the last picture and gives the cursor back. */
  close(): void;
}

/** A terminal that is too narrow, or whose cursor cannot be moved (`TERM=dumb`), gets lines, too. */
export function openScreen(io: Io): Screen {
  return canMove(io) && io.columns >= NARROWEST ? terminalScreen(io) : plainScreen(io);
}

const HIDE_CURSOR = '\x1b[?25l';
const SHOW_CURSOR = '\x1b[?25h';
const CLEAR_LINE = '\x1b[2K';
const CLEAR_BELOW = '\x1b[J';

function terminalScreen(io: Io): Screen {
  const on = canvas(io.columns, canColour(io));
  let drawn = 0;
  return {
    draw: (world) => {
      const lines = frame(world, on);
      const up = drawn === 0 ? HIDE_CURSOR : `\x1b[${drawn}A`;
      io.out(`${up}${lines.map((line) => `${CLEAR_LINE}${line}\n`).join('')}${CLEAR_BELOW}`);
      drawn = lines.length;
    },
    close: () => {
      if (drawn > 0) io.out(SHOW_CURSOR);
      drawn = 0;
    },
  };
}

function plainScreen(io: Io): Screen {
  let told = 0;
  let chapter: Chapter | undefined;
  return {
    draw: (world) => {
      for (const line of world.told.slice(told)) io.out(`${logLine(line)}\n`);
      told = world.told.length;
      if (chapter === world.chapter) return;
      chapter = world.chapter;
      io.out(`\n-- ${CHAPTERS[chapter].filter((line) => line !== '').join('\n   ')}\n\n`);
    },
    close: () => {},
  };
}

/** Send or delete a resource. Key: the record; revision: its generation. */
export const SYNDICATION_WORK = 'syndication';

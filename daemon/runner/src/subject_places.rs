//! Where the lines and functions of a subject are: their files and functions, by name.
//!
//! A function that several objects have, an inline one say, is one place.

use crate::error::Result;
use crate::subject_map::SubjectMap;
use hearth_coverage::gcov::canonical::absolute_name;
use hearth_coverage::gcov::object_map::Source;
use hearth_coverage::spectrum::{self, NOWHERE};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;

/// All places of a subject; coverage's `Places` are one kind of them, by line or function.
#[derive(Debug)]
pub struct SubjectPlaces {
    /// The file of each line, by line id.
    line_files: Vec<u32>,
    /// The function of each line, by line id; the innermost one.
    line_functions: Vec<u32>,
    /// The place of each function, by function id.
    function_places: Vec<u32>,
    functions: Vec<FunctionPlace>,
    file_count: usize,
}

/// A function.
#[derive(Debug, Clone, Copy)]
pub struct FunctionPlace {
    /// The file it is in.
    pub file: u32,
    /// The line it begins on.
    pub line: u32,
    last_line: u32,
    /// An object that has it, and which of its functions it is.
    object: u32,
    index: u32,
}

impl SubjectPlaces {
    pub(crate) fn new(map: &SubjectMap) -> Result<Self> {
        let (object_count, function_count, lines, files) = map.with_atlas(|atlas| {
            let files: FxHashMap<String, u32> = (0..atlas.source_count() as u32)
                .filter_map(|file| Some((atlas.source_name(file)?.to_owned(), file)))
                .collect();
            (atlas.object_count(), atlas.function_count() as usize, atlas.lines().to_vec(), files)
        });
        let mut functions: Vec<FunctionPlace> = Vec::new();
        let mut function_places = vec![NOWHERE; function_count];
        let mut known: FxHashMap<(u32, u32, Vec<u8>), u32> = FxHashMap::default();
        for object in 0..object_count as u32 {
            map.with_object(object, |place| {
                let name = |source: &Source<'_>| absolute_name(&place.map.cwd, &source.name);
                let sources: Vec<Option<u32>> =
                    place.map.sources.iter().map(|source| files.get(&name(source)).copied()).collect();
                for (index, function) in (0..).zip(place.map.functions.iter()) {
                    let file = sources[function.source as usize];
                    let Some(file) = file.filter(|_| function.is_shown()) else {
                        continue;
                    };
                    let key = (file, function.start_line, place.map.name(function).to_vec());
                    let id = *known.entry(key).or_insert(functions.len() as u32);
                    if id as usize == functions.len() {
                        functions.push(FunctionPlace {
                            file,
                            line: function.start_line,
                            last_line: function.end_line,
                            object,
                            index,
                        });
                    }
                    function_places[(place.first_function + index) as usize] = id;
                }
                Ok(())
            })?;
        }
        let mut by_file: Vec<Vec<(u32, u32)>> = vec![Vec::new(); files.len()];
        for (id, line) in (0..).zip(&lines) {
            by_file[line.source as usize].push((line.number, id));
        }
        by_file.iter_mut().for_each(|lines| lines.sort_unstable());
        let mut order: Vec<u32> = (0..functions.len() as u32).collect();
        // The outer before the inner, whose lines are its own.
        order.sort_by_key(|&id| {
            let function = &functions[id as usize];
            (function.file, function.line, Reverse(function.last_line), Reverse(id))
        });
        let mut line_functions = vec![NOWHERE; lines.len()];
        for id in order {
            let function = &functions[id as usize];
            let of_file = &by_file[function.file as usize];
            let first = of_file.partition_point(|&(number, _)| number < function.line);
            for &(_, line) in of_file[first..].iter().take_while(|&&(number, _)| number <= function.last_line)
            {
                line_functions[line as usize] = id;
            }
        }
        let line_files = lines.iter().map(|line| line.source).collect();
        Ok(Self { line_files, line_functions, function_places, functions, file_count: files.len() })
    }

    /// The files as places of lines.
    #[must_use]
    pub fn files(&self) -> spectrum::Places<'_> {
        spectrum::Places { of_ids: &self.line_files, count: self.file_count }
    }

    /// The functions as places of lines.
    #[must_use]
    pub fn functions(&self) -> spectrum::Places<'_> {
        spectrum::Places { of_ids: &self.line_functions, count: self.functions.len() }
    }

    /// A function.
    #[must_use]
    pub fn function(&self, place: u32) -> Option<&FunctionPlace> {
        self.functions.get(place as usize)
    }

    /// The functions as places of functions: those of several objects may be one.
    #[must_use]
    pub fn of_functions(&self) -> spectrum::Places<'_> {
        spectrum::Places { of_ids: &self.function_places, count: self.functions.len() }
    }
}

impl FunctionPlace {
    /// Its name, as the linker knows it.
    ///
    /// # Errors
    /// If the atlas is damaged there.
    pub fn name(&self, map: &SubjectMap) -> Result<Vec<u8>> {
        map.with_object(self.object, |place| {
            let function = place.map.functions.get(self.index as usize);
            Ok(function.map(|function| place.map.name(function).to_vec()).unwrap_or_default())
        })
    }
}
